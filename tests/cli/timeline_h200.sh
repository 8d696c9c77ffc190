for r in gpt_eager gpt_expandable gpt_graph gpt_oom mlp; do
	gpuprof timeline --json $DATA/h200_$r.gpr | grep -o "\"[a-z]*_peak_bytes\": [0-9]*"
done
