export LD_LIBRARY_PATH=$BUILD/fake FAKE_CUDA_FAIL=cuInit:1:100
gpuprof doctor | grep -E "^[a-z]+ +driver " | sed "s:/.*/fake/:FAKE/:"
