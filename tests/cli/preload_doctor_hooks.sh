export LD_LIBRARY_PATH=$BUILD/fake
gpuprof doctor | grep -E "^[a-z]+ +hooks "
GPUPROF_ONLY=nobody gpuprof doctor | grep -E "^[a-z]+ +hooks "
