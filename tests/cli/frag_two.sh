for o in --map --summary "--fit 1G" "-o x.svg"; do gpuprof frag $o a.gpr b.gpr; done
