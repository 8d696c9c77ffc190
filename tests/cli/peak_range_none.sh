cd $DATA && gpuprof peak --by range --of allocated h200_gpt_eager.gpr
gpuprof top --by range --of allocated h200_gpt_eager.gpr | tail -n 2
{
	gpuprof peak --range x h200_gpt_eager.gpr
	gpuprof top --range x h200_gpt_eager.gpr h200_ranges.gpr
	gpuprof diff --range x h200_gpt_eager.gpr h200_mlp.gpr
	gpuprof diff --range x h200_gpt_eager.gpr h200_ranges.gpr
}
for b in h200_mlp h200_ranges; do
	gpuprof diff --by range h200_gpt_eager.gpr $b.gpr | grep 'ranges$'
done
