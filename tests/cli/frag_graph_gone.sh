$BUILD/frag/made_oom graph made.gpr && gpuprof frag made.gpr | grep -e "empty_cache" -e private
gpuprof frag --json made.gpr | grep captured_at_ns | cut -c 1-110
