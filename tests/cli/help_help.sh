gpuprof help help
gpuprof help --help | head -n 1
gpuprof -V >short
gpuprof --version | cmp - short
