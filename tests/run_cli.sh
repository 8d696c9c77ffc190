#!/bin/sh
# Runs the command line tests. tests/cli/NAME.sh is a POSIX shell script. NAME.out is its expected
# output: stdout and stderr as a terminal shows them, then "exit status N". The script prints a
# difference as a unified diff. --bless writes NAME.out.
#   run_cli.sh BUILD [--bless] [NAME...]
#
# A script runs in an empty directory, with `gpuprof` on its path and these variables:
#   BUILD    the build: $BUILD/victims/ has programs to record, $BUILD/fake/ the fake driver
#   PRELOAD  the library that records      DATA  tests/data, read-only recordings
#   CLI      tests/cli, with the Python programs of the tests
# cli_masks.sh has the function `mask` and the mask that each output goes through.
#
# The name of a test shows its requirement. Without it the test is skipped:
#   preload_NAME        a library without a sanitizer
#   preload_details_NAME, preload_torch_ranges*   a C++ compiler
#   preload_nvtx_job_NAME   NVTX headers
#   mount_NAME, preload_mount_NAME   a mount namespace of its own
# Stacks are off by default: most tests are about figures, and the default of users has tests of its
# own (preload_default*).
BUILD=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift
bless=
[ "$1" != --bless ] || { bless=1; shift; }
[ $# -gt 0 ] || set -- $(cd "$here/cli" && ls | sed -n 's/\.sh$//p')
CLI=$here/cli DATA=$here/data PRELOAD=$BUILD/libgpuprof.so PATH=$BUILD:$PATH
LC_ALL=C.UTF-8 # pictures as most terminals show them
export BUILD CLI DATA PRELOAD PATH LC_ALL
export GPUPROF_STACKS=off
. "$here/cli_masks.sh"
work=$BUILD/run/cli
results=${RESULTS:-$work/results}
failed=0
mkdir -p "$work"
# commands must not write to the recordings of the tests, which run_suite.sh makes read-only
recordings() { cksum "$DATA"/*; }
before=$(recordings)
# missing NAME: prints the test's requirement that this machine or this build lacks
missing() {
	case $1 in preload_*)
		! grep -q __asan_init "$PRELOAD" || echo "the library holds a sanitizer"
		;;
	esac
	case $1 in
	preload_details_* | preload_torch_ranges*)
		[ -e "$BUILD/fake/torch-2.11/version.py" ] || echo "no C++ compiler"
		;;
	preload_nvtx_job_*)
		"$BUILD/victims/training_ranges" >/dev/null 2>&1
		[ $? != 77 ] || echo "no NVTX headers"
		;;
	mount_* | preload_mount_*)
		unshare -rm sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null ||
			echo "no mount namespace of our own here"
		;;
	esac
}
for name in "$@"; do
	reason=$(missing "$name" | head -n 1)
	if [ -n "$reason" ]; then
		echo "skip cli/$name $reason" >>"$results"
		continue
	fi
	dir=$work/$name
	rm -rf "$dir"
	mkdir -p "$dir/empty"
	HERE=$dir/empty
	export HERE
	(cd "$HERE" && timeout -k 5 240 sh -c '. "$0"; . "$1"' "$here/cli_masks.sh" \
		"$here/cli/$name.sh" </dev/null >>"$dir/output" 2>&1)
	echo "exit status $?" >>"$dir/output"
	mask default <"$dir/output" >"$dir/found"
	if [ "$before" != "$(recordings)" ]; then
		echo "fail cli/$name it changed tests/data" >>"$results"
		echo "fail $name: it changed tests/data"
		exit 1
	fi
	if [ -n "$bless" ]; then
		cp "$dir/found" "$here/cli/$name.out"
	elif diff -u "$here/cli/$name.out" "$dir/found" >"$dir/diff"; then
		echo "pass cli/$name" >>"$results"
	else
		echo "fail cli/$name (see $dir/diff)" >>"$results"
		echo "fail $name:"
		head -n 40 "$dir/diff"
		failed=1
	fi
done
exit $failed
