gpuprof export --format torhc $DATA/fake-held.gpr
