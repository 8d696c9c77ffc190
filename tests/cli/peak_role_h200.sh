cd $DATA &&
	gpuprof peak --by role --why h200_gpt_stacks.gpr &&
	gpuprof peak --by role --of allocated h200_ddp.gpr &&
	gpuprof peak --by role --of reserved h200_inductor.gpr &&
	gpuprof peak --by role --why --of allocated leak_kv_cache.gpr &&
	gpuprof peak --by role --of allocated h200_phases.gpr &&
	gpuprof peak --by role h200_gpt_eager.gpr h200_gpt_oom.gpr
