gpuprof run --stack-events launch:1000000000 -- true
