gpuprof help info && gpuprof info --help | head -n 1
