cd $DATA && gpuprof leaks --exit-code h200_calls.gpr | grep -v "^next"
gpuprof leaks --json h200_calls.gpr | grep "window_ns\|source"
