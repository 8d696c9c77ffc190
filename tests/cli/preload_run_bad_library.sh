printf "%0100d" 0 >text
head -c 5000 $BUILD/libgpuprof.so >cut.so
: >empty
mkdir d
for f in text cut.so empty d; do
	GPUPROF_LIB=$PWD/$f gpuprof run -- true
	gpuprof run --library $f -- echo started 2>/dev/null
	echo $?
done
