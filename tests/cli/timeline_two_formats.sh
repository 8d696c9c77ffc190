gpuprof timeline --csv --json run.gpr
