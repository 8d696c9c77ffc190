#!/bin/sh
# Stacks from an unmodified Python on the fake driver to `dump`: what each event says is what Python said itself.
# run_stacks.sh BUILD   (PYTHONS="python3.12 ...": these only)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)/stacks
work=$build/run/stacks
results=${RESULTS:-$work/results}
rm -rf "$work"
mkdir -p "$work"
failed=0

if [ -z "$PYTHONS" ]; then
	PYTHONS=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 /usr/local/bin/python3.[0-9]* \
		/usr/bin/python3.[0-9]* 2>/dev/null | grep -E '/python3(\.[0-9]+)?$')
fi

# say WHAT NAME WHY
say() {
	echo "$1 stacks/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 stacks/$2: $3"
	[ "$1" != fail ] || failed=1
}

# record NAME ROUNDS [kill]: settings in $settings
record() {
	env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$work/$1.gpr" $settings \
		"$python" -B "$here/allocate.py" "$work/$1.said" "$2" $3 >"$work/$1.out" 2>&1
}

# judge NAME DEPTH [merged]: the whole recording
judge() {
	"$build/gpuprof" dump --json --native --kind alloc "$work/$1.gpr" >"$work/$1.dumped" 2>"$work/$1.err"
	if why=$("$python" "$here/compare.py" "$work/$1.dumped" "$work/$1.said" "$2" $3 2>&1); then
		say pass "$1" "$why"
	else
		say fail "$1" "$why"
	fi
}

if ! python3 -c 'import ctypes' 2>"$work/ctypes"; then
	say skip python "python3 has no ctypes"
	exit 0
fi
number=0
for python in $PYTHONS; do
	number=$((number + 1))
	version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || continue
	case $version in
	2.* | 3.[0-7]) continue ;;
	esac
	settings=GPUPROF_STACKS=all
	record "$number-python$version" 3
	judge "$number-python$version" 64 merged
done
python=$(command -v python3)
settings=GPUPROF_STACKS=python
record python_alone 3
judge python_alone 64
settings=GPUPROF_STACKS=all
record killed 3 kill
judge killed 64 merged
settings="GPUPROF_STACKS=all GPUPROF_STACK_DEPTH=5"
record shallow 1
judge shallow 5
settings="GPUPROF_STACKS=all GPUPROF_RING=1M"
record wrapped 6000
judge wrapped 64 merged
"$build/gpuprof" info --json "$work/wrapped.gpr" | grep -q '"kept_from_ns": 0,' &&
	say fail wrapped "nothing was overwritten"
exit $failed
