#!/bin/sh
# Each driver call that the recorder itself makes (the CALL rows of cuda_api.def) fails: the first
# time, the second, the third, always. The job's output must stay the same and its recordings must
# be sound.  run_driver_failures.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/driver_failures
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2

job() {
	timeout -k 5 240 env LD_LIBRARY_PATH="$build/fake" "$@" "$build/victims/every_question" \
		>out 2>err
	echo $? >>out
}

# functions that must fail or be missing, so that the recorder makes the call
refused_before() {
	case $1 in
	cuStreamGetCtx) echo ,cuCtxGetCurrent:0 ;;
	cuStreamGetDevice) echo ,cuCtxGetCurrent:0,cuStreamGetCtx:0 ;;
	cuKernelGetName) echo ,cuFuncGetName:0 ;;
	cuKernelGetAttribute) echo ,cuFuncGetAttribute:0 ;;
	cuKernelGetParamInfo) echo ,cuFuncGetParamInfo:0 ;;
	esac
}
missing_for() {
	case $1 in cuDeviceGetUuid) echo cuDeviceGetUuid_v2 ;; esac
}

# try ROW NUMBER: leaves `why` empty when the job is not affected
try() {
	rm -f ./*.gpr
	job LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/%p.gpr" GPUPROF_TRACK_ACCESS=on \
		FAKE_CUDA_FAILED="$dir/told" \
		FAKE_CUDA_MISSING="$(missing_for "$1")" FAKE_CUDA_FAIL="$1:$2$(refused_before "$1")"
	why=
	if ! cmp -s bare out || ! cmp -s bare.err err; then
		why=$(diff bare out | grep '^[<>]' | head -n 2 | tr '\n' ';')
		why="the job's output changed when call $2 was refused: $why"
	elif [ "$(ls ./*.gpr | grep -c .)" != 2 ] ||
		! "$build/gpuprof" verify ./*.gpr >verdict 2>&1; then
		why="no two sound recordings when call $2 was refused"
	fi
	[ -z "$why" ]
}

job
cp out bare
cp err bare.err
rows=$(sed -n 's/^CALL(\([A-Za-z0-9_]*\),.*/\1/p' "$here/../interpose/driver/cuda_api.def")
for row in $rows; do
	rm -f told
	try "$row" 1 && try "$row" 2 && try "$row" 3 && try "$row" 0
	[ -n "$why" ] || grep -qx "$row" told ||
		why="the recorder never asked, expected: every_question makes it ask"
	if [ -z "$why" ]; then
		echo "pass driver_failures/$row" >>"$results"
	else
		echo "fail driver_failures/$row $why" | tee -a "$results"
		failed=1
	fi
done
exit $failed
