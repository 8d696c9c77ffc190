#!/bin/sh
# Runs the commands of README.md and docs/TUTORIAL.md twice in one directory, as a reader would, and
# compares the output with the pages (tests/readme_twice.py).
#   run_readme.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/readme_twice
results=${RESULTS:-$dir.results}

if grep -q __asan_init "$build/libgpuprof.so"; then
	echo "skip readme/twice the library holds a sanitizer" >>"$results"
	exit 0
fi
mkdir -p "$build/run"
if python3 "$here/readme_twice.py" "$build" "$dir" "$here/../README.md" \
	"$here/../docs/TUTORIAL.md" >"$dir.out" 2>&1; then
	echo "pass readme/twice" >>"$results"
	exit 0
fi
echo "fail readme/twice (see $dir.out)" >>"$results"
cat "$dir.out"
exit 1
