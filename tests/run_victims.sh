#!/bin/sh
# Runs each victim twice, bare and recorded, and compares: stdout, stderr, exit status; then judges the recordings
# by the victim's own claims.  run_victims.sh BUILD [NAME...]   (FULL=1: the full counts of tests/victims/runs)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift
[ $# -gt 0 ] || set -- $(cd "$build/victims" && ls | grep -v '\.d$')
work=$build/run/victims
mkdir -p "$work"
results=${RESULTS:-$work/results}
failed=0

# column NAME NUMBER: a column of the table of runs, blank when the victim has no row
column() {
	sed -n "s/^$1 *|//p" "$here/victims/runs" | cut -d'|' -f"$2" | sed 's/^ *//; s/ *$//'
}

say() {
	echo "$1 victim/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}

# run NAME DIR SUFFIX VARIABLE=VALUE...: output to DIR/SUFFIX.{out,err,status}
run() {
	name=$1 dir=$2 suffix=$3
	shift 3
	if [ "$mode" = own_shm ]; then
		set -- unshare -rm sh -c 'mount -t tmpfs -o size=4m none /dev/shm && exec "$@"' sh env "$@"
	else
		set -- env "$@"
	fi
	(cd "$dir" && timeout -k 5 "$limit" "$@" "$build/victims/$name" $arguments >"$suffix.out" 2>"$suffix.err"
	echo $? >"$suffix.status")
}

for name in "$@"; do
	dir=$work/$name
	rm -rf "$dir"
	mkdir -p "$dir"
	arguments=$(column "$name" 1)
	[ -z "$FULL" ] || arguments=$(column "$name" 2)
	environment=$(column "$name" 3)
	mode=$(column "$name" 4)
	limit=$(column "$name" 5)
	limit=${limit:-120}
	[ "$mode" != not_here ] || continue
	fake=LD_LIBRARY_PATH=$build/fake
	[ "$mode" != no_fake ] || fake=LD_LIBRARY_PATH=
	if [ "$mode" = own_shm ] && ! unshare -rm sh -c 'mount -t tmpfs -o size=4m none /dev/shm' 2>/dev/null; then
		say skip "$name" "no mount namespace of our own here"
		continue
	fi
	run "$name" "$dir" bare "$fake"
	run "$name" "$dir" recorded "$fake" LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$dir/%p-%t.gpr" \
		VICTIM_CLAIMS="$dir/claims" $environment
	if [ "$(cat "$dir/bare.status")" = 77 ]; then
		say skip "$name" "$(tail -n 1 "$dir/bare.err")"
		continue
	fi
	different=
	for what in status out err; do
		cmp -s "$dir/bare.$what" "$dir/recorded.$what" || different="$different $what"
	done
	if [ -n "$different" ]; then
		say fail "$name" "recorded and bare differ in:$different (see $dir)"
	elif [ "$(cat "$dir/bare.status")" = 70 ] || [ "$(cat "$dir/bare.status")" = 124 ]; then
		say fail "$name" "does not even run bare: $(tail -n 1 "$dir/bare.err")"
	elif [ -e "$dir/claims" ] && ! "$build/storm/expect" "$dir/claims" $(ls "$dir"/*.gpr 2>/dev/null) >"$dir/verdict" 2>&1; then
		say fail "$name" "$(grep -v "^gpuprof: adopted" "$dir/verdict" | head -n 3 | tr '\n' ';') (see $dir)"
	else
		say pass "$name"
		rm -f "$dir"/*.gpr
	fi
done
exit $failed
