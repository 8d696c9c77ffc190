gpuprof export --format torch -o x.pickle $DATA/fake-killed.gpr 2>&1 | sed "s/[0-9.]* s;/T;/"
