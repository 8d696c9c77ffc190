for r in h200_phases h200_ranges fake-ranges h200_clean_train h200_clean_compile leak_hooks \
	leak_loss_list leak_pinned leak_streams h200_gpt_stacks; do
	gpuprof top --by range --json $DATA/$r.gpr >t.json
	gpuprof phases --fold 5 --json $DATA/$r.gpr >p.json
	python3 -B $CLI/ranges_add_up.py t.json p.json || echo $r
done
