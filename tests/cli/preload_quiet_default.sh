unset GPUPROF_STACKS
cp $PRELOAD . && : >libunwind.so.8
LD_LIBRARY_PATH=$PWD:$BUILD/fake GPUPROF_LIB=$PWD/libgpuprof.so gpuprof run -q -o x.gpr \
	-- $BUILD/victims/leak_two
gpuprof info x.gpr | grep ^stacks
