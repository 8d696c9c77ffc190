export LD_LIBRARY_PATH=$BUILD/fake
for w in queue leak; do
	for o in memory stacks; do
		gpuprof run -q --stacks=python --outside-capture=$o \
			--capture-range cudaProfilerApi -o $w-$o.gpr \
			-- python3 -B $CLI/captured_loop.py $w
		echo $w $o
		gpuprof leaks --exit-code $w-$o.gpr 2>&1 |
			grep -E "missed|[Gg]row|[Ll]eak|hint|captured_loop|cannot" |
			mask steps last_step full
		gpuprof leaks --exit-code $w-$o.gpr >/dev/null 2>&1
		echo $?
	done
done
