export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run --only leak_two,nobody -o %p.gpr \
	-- sh -c "$BUILD/victims/leak_two; $BUILD/victims/two_gpus" >/dev/null 2>err
ls | grep -c gpr
gpuprof info *.gpr | grep -c victims/leak_two
GPUPROF_ONLY=leak gpuprof run -- $BUILD/victims/leak_two
