export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o a.gpr -- $BUILD/victims/idle_buffers && gpuprof idle a.gpr | sed 1d | mask program
gpuprof info --json a.gpr | sed -n '/"has"/p'
