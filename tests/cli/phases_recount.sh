for r in fake-ranges fake-training h200_ranges h200_phases h200_gpt_graph h200_inductor \
	h200_clean_train h200_clean_compile leak_hooks leak_pinned; do
	gpuprof phases --recorded-only --json $DATA/$r.gpr >p.json
	gpuprof dump --bare --json $DATA/$r.gpr >d.jsonl
	python3 -B $CLI/phases_recount.py p.json d.jsonl || echo $r
done
