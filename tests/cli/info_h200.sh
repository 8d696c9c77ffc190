cd $DATA && for r in gpt_eager gpt_expandable gpt_graph gpt_oom mlp; do
	gpuprof info h200_$r.gpr | grep -v "^next"
done
