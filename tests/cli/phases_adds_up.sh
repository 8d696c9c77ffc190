for data in fake-ranges fake-training h200_gpt_graph h200_gpt_stacks h200_phases h200_ranges \
	leak_pinned; do
	gpuprof phases --json $DATA/$data.gpr >$data.json
done
python3 $CLI/phases_adds_up.py *.json
gpuprof info --json $DATA/fake-ranges.gpr | grep -oE '"(launch|graph_launch|block_alloc)": [0-9]+'
