for f in h200_clean_train leak_hooks leak_loss_list leak_pinned leak_streams h200_clean_compile; do
	gpuprof phases --json $DATA/$f.gpr >told.json
	gpuprof phases --json --frames $DATA/$f.gpr >frames.json
	echo "$f"
	python3 -B $CLI/phases_compared.py told.json frames.json
done
