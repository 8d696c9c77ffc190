# a flight recorder that has overwritten the start of the job
gpuprof startup $CLI/overwritten.gpr
gpuprof startup --json $CLI/overwritten.gpr | grep -E '"(why|from_ns|parts|module_loads)"'
cp $CLI/overwritten.gpr w.gpr
gpuprof startup w.gpr w.gpr
