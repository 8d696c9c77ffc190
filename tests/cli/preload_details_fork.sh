export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
gpuprof run -q --no-symbolize -o %p.gpr -- $BUILD/victims/other_streams fork
echo $?
for f in $(ls -rS *.gpr); do
	gpuprof dump $f |
		sed -n "
			s/^ *[0-9.]* ms  t1 *//
			/arena number\|fact key=16\|segment\|block_alloc/p" |
		sed "s/ address.*//"
done | sort | uniq -c
for f in *.gpr; do gpuprof info $f | grep -c "nothing lost"; done
