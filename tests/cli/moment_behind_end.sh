for command in peak frag "diff fake-training.gpr"; do
	(
		cd $DATA &&
			gpuprof $command --at 100s h200_gpt_eager.gpr 2>&1 >/dev/null |
			grep -v "^hint"
	)
done
(
	cd $DATA && gpuprof peak --at 1.033s h200_gpt_eager.gpr 2>&1 | grep -c "after the end"
	gpuprof peak --at end h200_gpt_eager.gpr 2>&1 | grep -c "after the end"
)
true
