LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=libunwind.so.8 gpuprof run -q --stacks=native -o x.gpr \
	-- $BUILD/victims/leak_two
gpuprof info x.gpr | grep ^stacks
gpuprof dump --json --native --kind alloc x.gpr | grep -o -m1 "\"function\": \"main\""
readelf -dW $BUILD/libgpuprof-unwind.so | sed -n "s/.*(\(SONAME\|SYMBOLIC\)) */\1 /p; /liblzma/p"
