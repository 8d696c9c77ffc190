gpuprof snapshot abc
