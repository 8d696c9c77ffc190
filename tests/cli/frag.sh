gpuprof frag --help | head -n 4
$BUILD/frag/made_memory made.gpr && gpuprof frag made.gpr
