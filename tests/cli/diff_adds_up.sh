cd $DATA &&
	python3 $CLI/diff_adds_up.py fake-held.gpr h200_gpt_stacks.gpr h200_inductor.gpr \
		h200_ddp.gpr h200_libraries.gpr fake-training.gpr h200_jax.gpr
