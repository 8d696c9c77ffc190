gpuprof timeline --json $DATA/fake-killed.gpr | grep -o "\"[a-z]*_peak_[a-z_]*\": [0-9]*"
