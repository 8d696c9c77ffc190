cd $DATA
gpuprof timeline leak_pinned.gpr | tail -5
gpuprof timeline --to 3.65s leak_pinned.gpr | tail -3 | sed 1d
gpuprof timeline --points 16 --csv leak_pinned.gpr | grep ",host,"
gpuprof timeline --svg leak_pinned.gpr | grep -o "Host, pinned[^<]*"
gpuprof timeline --device 0 leak_pinned.gpr | grep -c Host
