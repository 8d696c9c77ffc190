cd $DATA &&
	LC_ALL=C gpuprof timeline --by role --columns 100 h200_gpt_stacks.gpr &&
	LC_ALL=C gpuprof timeline --by role --columns 60 --from step:2 --to step:3 \
		h200_clean_train.gpr &&
	gpuprof timeline --by role h200_gpt_eager.gpr | tail -n 3 &&
	gpuprof timeline --by role h200_cupy.gpr | sed -n 4p &&
	gpuprof timeline --json --by role --points 16 h200_phases.gpr |
	grep -oE '"key": "[a-z_]*", "bytes": [^]]*]'
gpuprof timeline --by role --svg h200_gpt_stacks.gpr |
	sed -n '/by role/,$s/.*>\([^<>]*\)<.text>$/\1/p'
gpuprof timeline --by role --svg h200_jax.gpr | grep -c role,
for form in --json --svg; do
	gpuprof timeline --by role --fragmentation $form h200_gpt_stacks.gpr |
		grep -oe late_gaps -e fragmentation -e '"roles"' -e "by role" | sort -u
done
gpuprof timeline --by role --fragmentation h200_gpt_stacks.gpr
gpuprof timeline --by role --csv h200_ddp.gpr
gpuprof timeline --by role h200_ddp.gpr h200_jax.gpr
