gpuprof export --format torch
