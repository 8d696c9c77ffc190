export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
gpuprof run -q --no-symbolize -o a.gpr -- $BUILD/victims/other_streams &&
	gpuprof dump a.gpr |
	sed -n "
		/ t0 \| wait /d
		s/^ *[0-9.]* ms  t1 *//
		s/handle=0x[0-9a-f]*/handle=H/
		s/owner=0x[0-9a-f]*/owner=H/
		s/physical address=0x[0-9a-f]*/physical address=H/
		s/ ([0-9.]* .iB)//g
		/arena\|alloc\|block\|segment\|free\|oom\|snapshot\|fact\|device_memory/p" |
	mask took
gpuprof verify a.gpr >/dev/null
