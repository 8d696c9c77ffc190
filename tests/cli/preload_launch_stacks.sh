export LD_LIBRARY_PATH=$BUILD/fake
for e in launch:100 launch:1 all memory,launch:7 launch:2000 alloc; do
	gpuprof run -q --stacks=native --stack-events=$e -o %p.gpr \
		-- $BUILD/victims/launch_from_threads 1001 >/dev/null
	for f in $(ls -tr *.gpr); do
		gpuprof dump --json $f
	done | python3 $CLI/stacked_launches.py $e
	gpuprof info --json *.gpr | grep -o '"launch_every": [^,]*' | uniq
	gpuprof info $(ls *.gpr | head -n 1) | grep -o '; 1 in [0-9,]* launches.*'
	gpuprof dump --limit 0 $(ls *.gpr | head -n 1) | grep "^of a"
	rm -f *.gpr
done
