#!/bin/sh
# Walks Python's frames under every interpreter of this machine and compares the walk with the
# interpreter's own frames.
#   run_python.sh BUILD   (PYTHONS="python3.12 ...": these only; FULL=1: full counts; SCRIPT=name:
#   one script)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)/python
work=$build/run/python
results=${RESULTS:-$work/results}
library=$build/python/libwitness.so
rm -rf "$work"
mkdir -p "$work"
failed=0

if [ -z "$PYTHONS" ]; then
	PYTHONS=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 \
		/usr/local/bin/python3.[0-9]* \
		/usr/bin/python3.[0-9]* 2>/dev/null | grep -E '/python3(\.[0-9]+)?$')
fi
# number of rounds of each, in `check` and in full
if [ -n "$FULL" ]; then
	rounds=20 step=1 functions=30000 ends=50 ms=1000 sub_interpreters=200
else
	rounds=2 step=24 functions=1500 ends=2 ms=50 sub_interpreters=24
fi

# `say WHAT VERSION SCRIPT WHY`
say() {
	echo "$1 python/$2/$3 $4" >>"$results"
	[ "$1" = pass ] || echo "$1 python/$2/$3: $4"
	[ "$1" != fail ] || failed=1
}

# run SCRIPT ARGUMENT...: with $python, output to $work/VERSION.SCRIPT; stalled if it has not ended
# in time
run() {
	script=$1
	shift
	out=$work/$version.$script
	timeout -k 5 "${limit:-480}" "$python" -B -W ignore "$here/$script.py" "$library" "$@" \
		>>"$out" 2>&1
}

# judge SCRIPT ARGUMENT...: for scripts with many cases, the argument is part of the name
judge() {
	name=$1
	[ "$1" != unknown_layout ] || name=$1_$2
	[ -z "$SCRIPT" ] || [ "$SCRIPT" = "$1" ] || return 0
	if run "$@"; then
		say pass "$version" "$name" "$(tail -n 1 "$out")"
	else
		say fail "$version" "$name" "exit $? (see $out)"
		tail -n 4 "$out" | cut -c 1-400
	fi
}

# walks during the interpreter's end; in every other run freed memory is made inaccessible
judge_ends() {
	[ -z "$SCRIPT" ] || [ "$SCRIPT" = ends_walking ] || return 0
	for k in $(seq "$ends"); do
		setting=PYTHONMALLOC=default
		[ $((k % 2)) = 0 ] || setting=PYTHONMALLOC=debug
		timeout -k 5 240 env "$setting" "$python" -B "$here/ends_walking.py" "$library" \
			>"$work/$version.ends" 2>&1
		status=$?
		met=$(tail -n 1 "$work/$version.ends")
		[ $status = 0 ] || break
	done
	if [ $status = 0 ]; then
		say pass "$version" ends_walking "$ends runs: $met"
	else
		say fail "$version" ends_walking "run $k, $setting: exit $status: $met"
	fi
}

tried=0
for python in $PYTHONS; do
	version=$("$python" -c 'import ctypes, sys; print("%d.%d.%d" % sys.version_info[:3])' \
		2>/dev/null) || continue
	tried=$((tried + 1))
	case $version in
	3.[0-7].*)
		judge unknown_layout too_old
		continue
		;;
	esac
	judge walk_situations $rounds
	judge line_tables $step
	judge identities $functions
	judge interpreters $sub_interpreters
	judge inside_interpreters
	judge lock_order $ms
	for case in no_interpreter missing_runtime wrong_code_type type_of_frames \
		wrong_text_type wrong_cookie another_offset next_version other_version; do
		judge unknown_layout $case
	done
	judge_ends
done
[ $tried != 0 ] || echo "skip python/interpreters no Python 3 with ctypes here" >>"$results"
exit $failed
