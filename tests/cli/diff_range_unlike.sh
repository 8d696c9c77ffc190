for r in gpt_stacks gpt_eager ranges; do ln -s $DATA/h200_$r.gpr; done
for b in h200_gpt_stacks h200_ranges; do
	gpuprof diff --by range h200_gpt_eager.gpr $b.gpr | grep -vE '^[ AB] |^Commands differ'
	gpuprof diff --by range --json h200_gpt_eager.gpr $b.gpr 2>err |
		grep -E '"different"|"phases_by"|"curves"'
	cat err
	gpuprof diff --by range h200_gpt_eager.gpr $b.gpr >out 2>err
	echo $?
done
gpuprof diff --range forward --top 3 h200_gpt_stacks.gpr h200_gpt_eager.gpr h200_ranges.gpr |
	grep -E 'range|forward'
gpuprof peak --by range --json h200_ranges.gpr | grep phases_by
gpuprof top --by range --json h200_gpt_stacks.gpr | grep phases_by
gpuprof peak --json h200_gpt_stacks.gpr | grep phases_by
true
