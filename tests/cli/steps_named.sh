cd $DATA
for name in "micro batch" "evaluate 7" none; do
	gpuprof leaks --steps "$name" h200_ranges.gpr | grep "steps by\|No steps\|Only"
done
