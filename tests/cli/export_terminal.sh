script -qec "TERM=dumb gpuprof export --format torch $DATA/fake-held.gpr" /dev/null | tr -d "\r"
