cd $DATA && for r in gpt_eager gpt_expandable gpt_graph inductor ddp mlp idle calls; do
	gpuprof info --steps h200_$r.gpr | grep "^steps"
done
gpuprof top --from step:3 --to step:4 h200_gpt_eager.gpr | sed -n 2,3p
gpuprof top --from step:9 h200_gpt_eager.gpr
gpuprof timeline --at step:1 h200_calls.gpr
gpuprof top --from step:0 h200_mlp.gpr
