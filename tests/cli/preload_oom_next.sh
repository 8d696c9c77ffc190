export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -o a.gpr -- $BUILD/victims/driver_oom 2>&1 >/dev/null | tail -n 1
gpuprof oom --details a.gpr | cut -c 19- | sed -n "2,4p"
