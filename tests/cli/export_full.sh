gpuprof export --format torch -o /dev/full --force $DATA/fake-held.gpr 2>&1 | tail -1
