cd $DATA && gpuprof export --format torch fake-held.gpr >/dev/null
gpuprof export --format torch fake-held.gpr 2>/dev/null | head -c 3 | od -An -c
