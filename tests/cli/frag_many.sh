cd $DATA
gpuprof frag h200_gpt_*.gpr
gpuprof frag --at end leak_kv_cache.gpr leak_hooks.gpr
gpuprof frag --json --no-stacks --fit 1G leak_kv_cache.gpr leak_hooks.gpr |
	grep -c "schema\|block_bytes"
gpuprof frag missing.gpr leak_hooks.gpr
