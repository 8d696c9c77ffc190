export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o a.gpr -- $BUILD/victims/other_streams >/dev/null
gpuprof oom --details a.gpr | grep verdict:
gpuprof oom a.gpr | grep fraction
