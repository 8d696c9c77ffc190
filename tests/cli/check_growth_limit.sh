cd $DATA
for n in 3276 3277; do
	gpuprof check --json --max-growth $n leak_kv_cache.gpr |
		grep -o '"state": [^,]*, "value": [0-9]*, "limit": [0-9]*'
done
