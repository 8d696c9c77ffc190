unset NVTX_INJECTION64_PATH
show='echo "${NVTX_INJECTION64_PATH##*/}"'
LD_PRELOAD=$PRELOAD sh -c "$show"
LD_PRELOAD=$PRELOAD GPUPROF_NVTX=off sh -c "$show"
LD_PRELOAD=$PRELOAD GPUPROF=off sh -c "$show"
LD_PRELOAD=$PRELOAD GPUPROF_ONLY=python3 sh -c "$show"
export NVTX_INJECTION64_PATH=/opt/tool/libTools.so
LD_PRELOAD=$PRELOAD sh -c "$show"
LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr GPUPROF_VERBOSE=on \
	$BUILD/victims/leak_two 2>&1 |
	grep NVTX
gpuprof info x.gpr | grep ranges
gpuprof info --json x.gpr | grep '"ranges"'
