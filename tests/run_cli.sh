#!/bin/sh
# Runs the command line tests: tests/cli/NAME.test holds a shell command in its first line, the
# stdout expected of it, and "? STATUS" in its last line. The command runs in an empty directory
# with the program `gpuprof` on its path and $BUILD, $DATA (tests/data), $PRELOAD (the library) set;
# preload_NAME.test are skipped where the library holds a sanitizer, which cannot be preloaded,
# preload_details_NAME.test and preload_torch_ranges*.test where there was no C++ compiler to build
# what they meet, preload_nvtx_job_NAME.test where there were no NVTX headers to build the job with,
# and mount_NAME.test where no tmpfs can be mounted. Stacks are off unless a test asks for them:
# most tests are about figures, and the default has tests of its own (preload_default*.test).
#   run_cli.sh BUILD [--bless] [NAME...]
BUILD=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift
bless=
[ "$1" != --bless ] || { bless=1; shift; }
[ $# -gt 0 ] || set -- $(cd "$here/cli" && ls | sed -n 's/\.test$//p')
DATA=$here/data PRELOAD=$BUILD/libgpuprof.so PATH=$BUILD:$PATH
LC_ALL=C.UTF-8 # pictures as most terminals show them
export BUILD DATA PRELOAD PATH LC_ALL
export GPUPROF_STACKS=off
work=$BUILD/run/cli
results=${RESULTS:-$work/results}
failed=0
mkdir -p "$work"
# no command writes to the recordings of the tests, which run_suite.sh makes read-only
recordings() { cksum "$DATA"/*; }
before=$(recordings)
for name in "$@"; do
	test=$here/cli/$name.test
	dir=$work/$name
	case $name in preload_*)
		if grep -q __asan_init "$PRELOAD"; then
			echo "skip cli/$name the library holds a sanitizer" >>"$results"
			continue
		fi
		;;
	esac
	case $name in preload_details_*|preload_torch_ranges*)
		if [ ! -e "$BUILD/fake/torch-2.11/version.py" ]; then
			echo "skip cli/$name no C++ compiler" >>"$results"
			continue
		fi
		;;
	preload_nvtx_job_*)
		"$BUILD/victims/training_ranges" >/dev/null 2>&1
		if [ $? = 77 ]; then
			echo "skip cli/$name no NVTX headers" >>"$results"
			continue
		fi
		;;
	mount_*)
		if ! unshare -rm sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
			echo "skip cli/$name no mount namespace of our own here" >>"$results"
			continue
		fi
		;;
	esac
	rm -rf "$dir"
	mkdir -p "$dir/empty"
	head -n 1 "$test" >"$dir/found"
	(cd "$dir/empty" && timeout -k 5 240 sh -c "$(head -n 1 "$test")" >>"$dir/found" \
		2>"$dir/err" </dev/null; echo "? $?" >>"$dir/found")
	if [ "$before" != "$(recordings)" ]; then
		echo "fail cli/$name it changed tests/data" >>"$results"
		echo "fail $name: it changed tests/data"
		exit 1
	fi
	if [ -n "$bless" ]; then
		cat "$dir/found" >"$test"
	elif diff -u "$test" "$dir/found" >"$dir/diff"; then
		echo "pass cli/$name" >>"$results"
	else
		echo "fail cli/$name (see $dir/diff)" >>"$results"
		echo "fail $name:"
		head -n 20 "$dir/diff"
		failed=1
	fi
done
exit $failed
