#!/bin/sh
# Runs each victim twice, bare and recorded, and compares stdout, stderr and exit status. Then
# checks the recordings against the victim's own claims.
#   run_victims.sh BUILD [NAME...]   (FULL=1: the full counts of tests/victims/runs; light, or
#   STACKS=all: with stacks on every memory event and with details, which must not change the
#   results)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift
[ $# -gt 0 ] || set -- $(cd "$build/victims" && ls | grep -v '\.d$')
suite=victim${STACKS:+_with_stacks}
with_stacks=GPUPROF_LIGHT=on
[ -z "$STACKS" ] ||
	with_stacks="GPUPROF_STACKS=$STACKS GPUPROF_STACK_EVENTS=memory
	GPUPROF_ALLOCATOR_DETAILS=on"
work=$build/run/$suite
mkdir -p "$work"
results=${RESULTS:-$work/results}
failed=0

# column NAME NUMBER: a column of the table of runs, blank when the victim has no row
column() {
	sed -n "s/^$1 *|//p" "$here/victims/runs" | cut -d'|' -f"$2" | sed 's/^ *//; s/ *$//'
}

say() {
	echo "$1 $suite/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}

# run NAME DIR SUFFIX VARIABLE=VALUE...: output to DIR/SUFFIX.{out,err,status}
run() {
	name=$1 dir=$2 suffix=$3
	shift 3
	if [ "$mode" = own_shm ]; then
		set -- unshare -rm sh -c 'mount -t tmpfs -o size=4m none /dev/shm && exec "$@"' sh \
			env "$@"
	else
		set -- env "$@"
	fi
	(cd "$dir" && timeout -k 5 "$limit" "$@" "$build/victims/$name" $arguments >"$suffix.out" \
		2>"$suffix.err"
	echo $? >"$suffix.status")
}

# judge NAME DIR: leaves `why` empty when bare and recorded runs are alike and all claims hold
judge() {
	why=
	rm -f "$2/verdict"
	for what in status out err; do
		cmp -s "$2/bare.$what" "$2/recorded.$what" || why="$why $what"
	done
	is_late=
	if [ "$why" = " err" ] && grep -v 'cannot be opened in time' "$2/recorded.err" |
		cmp -s - "$2/bare.err"; then
		why="the recorder got no processor in time"
		is_late=1
	elif [ -n "$why" ]; then
		why="recorded and bare differ in:$why"
	elif [ -e "$2/claims" ] &&
		! "$build/storm/expect" "$2/claims" $(ls "$2"/*.gpr 2>/dev/null) >"$2/verdict" \
		2>&1; then
		why=$(grep '^not so' "$2/verdict" | head -n 3 | tr '\n' ';')
	fi
	[ -z "$why" ]
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
	limit=${limit:-480}
	[ "$mode" != not_here ] || continue
	fake=LD_LIBRARY_PATH=$build/fake
	# with stacks also allocator details, where their library could be built
	[ -z "$STACKS" ] || [ ! -e "$build/fake/torch-2.11/version.py" ] ||
		fake=LD_LIBRARY_PATH=$build/fake/torch-2.11/lib:$build/fake
	[ "$mode" != no_fake ] || fake=LD_LIBRARY_PATH=
	if [ "$mode" = own_shm ] &&
		! unshare -rm sh -c 'mount -t tmpfs -o size=4m none /dev/shm' 2>/dev/null; then
		say skip "$name" "no mount namespace of our own here"
		continue
	fi
	# the recorder's settings have no effect on the bare run, those of the fake driver do
	run "$name" "$dir" bare "$fake" $environment
	case $(cat "$dir/bare.status") in
	77)
		say skip "$name" "$(tail -n 1 "$dir/bare.err")"
		continue
		;;
	70 | 124)
		say fail "$name" "does not even run bare: $(tail -n 1 "$dir/bare.err")"
		continue
		;;
	esac
	# a busy machine may give the recorder no processor for long. The recorder then loses events
	# and counts them, and the victim gets two more attempts. Every other difference fails at
	# once.
	for _ in 1 2 3; do
		rm -f "$dir"/*.gpr "$dir/claims"
		run "$name" "$dir" recorded "$fake" LD_PRELOAD="$build/libgpuprof.so" \
			GPUPROF_OUTPUT="$dir/%p-%t-%r.gpr" \
			VICTIM_CLAIMS="$dir/claims" $with_stacks $environment
		judge "$name" "$dir" && break
		[ "$is_late" ] || grep -q 'lost_memory = 0' "$dir/verdict" 2>/dev/null || break
		echo "again $name: $why"
	done
	if [ -n "$why" ]; then
		say fail "$name" "$why (see $dir)"
	else
		say pass "$name"
		rm -f "$dir"/*.gpr
	fi
done
exit $failed
