export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
gpuprof run -q --no-symbolize -o x.gpr -- $BUILD/victims/fills_without_launch
gpuprof dump x.gpr |
	sed -n "
		s/^ *[0-9.]* ms  t1 *//
		s/ address=[^ ]*//
		/block_alloc\|block_existing\|segment\|oom\|fact key=16/p" |
	sed "s/ ([^)]*)//g" |
	uniq -c |
	head -n 12
gpuprof oom --details x.gpr | grep -e "verdict:" -e "note:"
