cp $PRELOAD . && : >libunwind.so.8
LD_LIBRARY_PATH=$PWD:$BUILD/fake GPUPROF_LIB=$PWD/libgpuprof.so \
	gpuprof run -q --stacks=native -o x.gpr -- $BUILD/victims/leak_two
gpuprof info x.gpr | grep ^stacks
for r in peak "peak --tree" top "peak --json" dump; do
	gpuprof $r x.gpr | grep -o -m1 "no native[^\"]*"
done
