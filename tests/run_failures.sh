#!/bin/sh
# Lets the N-th system call of the library fail, for each possible N; then all from the N-th on;
# then lets its writes and its file opening hang. The job's own output and exit status must stay the
# same. With slow writes, no memory event is lost, and each launch is recorded or counted as lost.
# On a full disk memory events are lost, too. Rings that it cannot remove lie in a directory of
# their own, where a later process of the same number cannot find them.
#   run_failures.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/failures
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir/rings"
cd "$dir" || exit 2
GPUPROF_RING_DIR=$dir/rings
export GPUPROF_RING_DIR

steps=2
job() {
	timeout -k 5 240 env LD_LIBRARY_PATH="$build/fake" "$@" "$build/victims/training_loop" \
		$steps >out 2>err
	echo $? >>out
}

# judge NAME: compares with the bare run
judge() {
	if cmp -s bare out; then
		echo "pass failures/$1" >>"$results"
	else
		echo "fail failures/$1 the job's output changed (see $dir/$1.out)" |
			tee -a "$results"
		cp out "$1.out"
		cp err "$1.err"
		failed=1
	fi
	rm -f ./*.gpr rings/*
}

job
cp out bare
preload="$build/libgpuprof.so:$build/fake/failing.so"
recorded="LD_PRELOAD=$preload GPUPROF_OUTPUT=$dir/%p-%t.gpr"
job $recorded FAILING_COUNT="$dir/calls"
judge none
# the first calls are those of the start, where most can fail
calls=$(grep -c . calls)
echo "$calls calls"
if [ "$calls" -le 0 ]; then
	echo "fail failures/count no call of the library was seen" >>"$results"
	exit 1
fi
[ "$calls" -le "${CALLS_MAX:-60}" ] || calls=${CALLS_MAX:-60}
n=1
while [ $n -le "$calls" ]; do
	job $recorded FAILING_CALL=$n
	judge "call_$n"
	job $recorded FAILING_FROM=$n
	judge "from_$n"
	n=$((n + 1))
done
for function in pwrite write open posix_fallocate fstatfs; do
	job $recorded FAILING_HANG=$function
	judge "hang_$function"
done
# the disk is too slow, and the job waits: it has 560 launches a step
steps=1000
job LD_PRELOAD="$preload" GPUPROF_OUTPUT="$dir/slow.gpr" GPUPROF_RING=0 FAILING_SLOW=pwrite
info=$("$build/gpuprof" info --json slow.gpr | tr -d ' \n')
launches=$(echo "$info" | sed 's/.*"launches":\([0-9]*\),"captured.*/\1/')
lost=$(echo "$info" | sed 's/.*"lost":{"memory":[0-9]*,"launch":\([0-9]*\).*/\1/')
case $((launches + lost)),$info in
560000,*'"lost":{"memory":0,'*'"mismatches":0,"anomalies":0'*)
	verdict="pass failures/slow_pwrite" ;;
*) verdict="fail failures/slow_pwrite more than launches is lost or wrong: $info" ;;
esac
echo "$verdict" >>"$results"
case $verdict in fail*) failed=1 && echo "$verdict" ;; esac
rm -f slow.gpr
steps=2
# a directory that cannot be written, and one that does not exist
mkdir -p closed && chmod 500 closed
job LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/closed/x.gpr"
judge closed_directory
job LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/absent/x.gpr"
judge absent_directory
# the directory's own name; a device: the recorder tries no other name beside it
job LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/closed/"
judge directory_given
ln -s /dev/full "$dir/device"
job LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/device"
judge device_given
grep -q "device': it exists and is not a regular file" err && [ ! -e device.2 ] || {
	echo "fail failures/device_refused a name beside a device was taken, or nothing was said" |
		tee -a "$results"
	failed=1
}
chmod 700 closed
mkdir -p full
if ! unshare -rm sh -c 'mount -t tmpfs -o size=2m none "$1"' sh "$dir/full" 2>/dev/null; then
	echo "skip failures/full_disk no mount namespace of our own here" >>"$results"
elif ! unshare -rm "$here/full_disk.sh" "$build" "$dir/full" "$results"; then
	failed=1
fi
exit $failed
