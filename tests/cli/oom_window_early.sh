$BUILD/frag/made_oom early made.gpr && gpuprof info --steps made.gpr | grep -c "^steps  *16,"
gpuprof oom --window step made.gpr | grep "^no steps\|^  Growth since\|^  No growth"
gpuprof oom --window step --json made.gpr | grep "no_steps\|\"step\""
