#!/bin/sh
# A recording with stored names must give the same reports when the job's libraries are gone; one
# without must not.
#   gone.sh BUILD, in an empty directory
build=$1
here=$(cd "$(dirname "$0")" && pwd)

# show FILE TO: writes all reports on it
show() {
	cp "$1" shown.gpr
	for options in "dump" "dump --native" "dump --json --native" "peak --json" "peak --tree" \
		"top --json" "top --by line"; do
		gpuprof $options shown.gpr
	done >"$2" 2>&1
}

# judge NAME: NAME.gpr was recorded; its libraries lie in ./gone
judge() {
	show "$1.gpr" "$1.before"
	cp "$1.gpr" "$1.bare.gpr"
	gpuprof symbolize "$1.gpr" >"$1.said" || echo "$1: not symbolized"
	show "$1.gpr" "$1.here"
	mv gone elsewhere
	show "$1.gpr" "$1.after"
	show "$1.bare.gpr" "$1.without"
	mv elsewhere gone
	cmp -s "$1.before" "$1.here" && cmp -s "$1.before" "$1.after" && echo "$1: the same" ||
		echo "$1: not the same"
	! cmp -s "$1.before" "$1.without" || echo "$1: names are not needed"
}

# a Python of its own, and the library with the operators
mkdir -p gone/bin gone/lib gone/victims gone/native
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
cp "$python" gone/bin/python
cp "$build/fake/libtorch_cpu.so" gone/lib
cp $(ldd "$python" | sed -n 's:.*=> \(/.*libpython[^ ]*\).*:\1:p') gone/lib 2>/dev/null
LD_LIBRARY_PATH=$PWD/gone/lib:$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_STACKS=all \
	PYTHONHOME=$(python3 -c 'import sys; print(sys.base_prefix)') GPUPROF_OUTPUT=python.gpr \
	gone/bin/python -B "$here/operators.py" || exit 1
judge python

# libraries that take turns at one address
cp "$build/victims/library_in_anothers_place" gone/victims
cp "$build"/native/libcallee_small.so "$build"/native/libcallee_large.so gone/native
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_STACKS=native \
	GPUPROF_OUTPUT=turns.gpr gone/victims/library_in_anothers_place >/dev/null ||
	exit 1
judge turns
