$BUILD/frag/made_oom ipc made.gpr && gpuprof frag made.gpr | grep "IPC imports"
gpuprof frag --json made.gpr | grep imported
