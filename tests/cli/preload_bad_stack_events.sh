export LD_LIBRARY_PATH=$BUILD/fake
for e in launch launch: launch:0 launch:1x launch:-1 launch:1000000000 all,launch:2 \
	launch:2,launch:3 "alloc," every; do
	gpuprof run --stack-events=$e -- touch started 2>&1 | head -n 1
done
ls -A
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_STACKS=native GPUPROF_STACK_EVENTS=launch:x \
	$BUILD/victims/leak_two
gpuprof dump --json x.gpr | grep -c '"stack"'
