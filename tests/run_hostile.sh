#!/usr/bin/env bash
# Feeds the recordings of tests/hostile/made_hostile.c to the commands, each under the limits of its
# row in tests/hostile/limits. For any recording, a command must end by itself, report within little
# time and memory, and print no control sequence.
#   run_hostile.sh BUILD [FAMILY]
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/hostile
results=${RESULTS:-$dir/results}
failed=0
number=0
rm -rf "$dir"
mkdir -p "$dir"

say() {
	echo "$1 hostile/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}

# Time limits are for a machine that runs this loop in 0.5 s. A slower one gets more, up to 3 times.
loop_ms=$(
	TIMEFORMAT='%U'
	{ time awk 'BEGIN { for (k = 0; k < 20000000; k++) s += k }'; } 2>&1 | tr -d .
)
loop_ms=$((10#$loop_ms < 500 ? 500 : 10#$loop_ms > 1500 ? 1500 : 10#$loop_ms))

# Bytes that are not UTF-8, or characters that control a terminal or that hide or reorder text
is_harmful() {
	! iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 ||
		LC_ALL=C.UTF-8 grep -qaP \
			'(?![\t\x{200c}\x{200d}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\x{fffe}\x{ffff}]' "$1"
}

# A command over its limit of processor time is killed (137). It then runs once more: a machine that
# was paused charges the pause to the process that ran.
run_limited() {
	# a wall-clock limit, because a command that waits uses no processor time
	(
		cd "$dir/empty" && ulimit -t "$seconds" && ulimit -v "$kib" &&
			timeout -k 5 100 "$build/gpuprof" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	)
	status=$?
}

# leaves `why` empty when all is well
judge() {
	why=
	run_limited "$@"
	[ "$status" != 137 ] || run_limited "$@"
	[ "$status" = "$expected" ] ||
		why="status $status, expected $expected, of: gpuprof $* $(tail -n 1 "$dir/err")"
	for printed in "$dir/out" "$dir/err" "$dir/empty/"*.svg; do
		if [ -e "$printed" ] && is_harmful "$printed"; then
			why="$why harmful characters in ${printed##*/} of: gpuprof $*"
		fi
	done
}

while read -r family count a_mib a_byte expected command; do
	case $family in '' | '#'*) continue ;; esac
	[ -z "$2" ] || [ "$2" = "$family" ] || continue
	number=$((number + 1))
	file=$dir/$family-$count.gpr
	rm -rf "$dir/empty"
	mkdir "$dir/empty"
	if [ ! -e "$file" ] && ! "$build/hostile/made_hostile" "$family" "$count" "$file"; then
		say fail "$family" "made_hostile cannot write it"
		continue
	fi
	bytes=$(stat -c %s "$file")
	read=${command//[^@]/}
	seconds=$(((${#read} * (2 + (a_mib * bytes + 1048575) / 1048576) * loop_ms + 499) / 500))
	kib=$((264 * 1024 + a_byte * bytes / 1024))
	# shellcheck disable=SC2086 # words of the row
	judge $(echo "$command" | sed "s#@#$file#g")
	if [ -z "$why" ]; then
		say pass "$family-$number"
	else
		say fail "$family-$number" "$why"
	fi
done <"$here/hostile/limits"
exit $failed
