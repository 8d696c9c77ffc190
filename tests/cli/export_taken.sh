touch there
gpuprof export --format torch -o there $DATA/fake-held.gpr
ls
