#!/bin/sh
# Runs the measuring programs and puts their figures beside limits and anchors from the same run: a table on stdout,
# the same as JSON in BUILD/bench.json. Costs time, not truth: it fails only when a program fails.
#	bench.sh BUILD
set -eu
build=$(cd "$1" && pwd)
work=$(mktemp -d)
session_daemon=
end() {
	if [ -n "$session_daemon" ]; then
		lttng destroy gpuprof-bench >/dev/null 2>&1 || true
		kill "$session_daemon" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap end EXIT
figures=$work/figures
unset GPUPROF_OUTPUT

# recorded NAME PROGRAM...: a run on the fake driver, its figures kept
recorded() {
	name=$1
	shift
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/$name.gpr \
		GPUPROF_RING=${ring:-0} "$@" >>"$figures"
}

# Instructions of the main thread for N launches: the difference of two N leaves the start out.
instructions() {
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/callgrind-%p.gpr \
		valgrind -q --tool=callgrind --separate-threads=yes --callgrind-out-file="$work/callgrind.$1.$2" \
		"$build/bench/call_cost" launches "$1" "$2" >/dev/null 2>&1
	sed -n 's/^totals: //p' "$work/callgrind.$1.$2-01"
}
count_instructions() {
	command -v valgrind >/dev/null || return 0
	few_wrapped=$(instructions 1000 wrapped) many_wrapped=$(instructions 11000 wrapped)
	few_bare=$(instructions 1000 bare) many_bare=$(instructions 11000 bare)
	awk -v a="$few_wrapped" -v b="$many_wrapped" -v c="$few_bare" -v d="$many_bare" 'BEGIN {
		printf "launch_instructions %.1f\n", (b - a - (d - c)) / 10000
		printf "launch_instructions_bare %.1f\n", (d - c) / 10000 }' >>"$figures"
}

# A session of our own, with the peer's event enabled.
time_peer() {
	[ -x "$build/bench/lttng_peer" ] && command -v lttng-sessiond >/dev/null || return 0
	if ! lttng --no-sessiond list >/dev/null 2>&1; then
		lttng-sessiond --daemonize --no-kernel --pidfile "$work/lttng.pid" >/dev/null 2>&1 || return 0
		session_daemon=$(cat "$work/lttng.pid")
	fi
	{
		lttng create gpuprof-bench --output "$work/lttng" &&
			lttng enable-channel -u -s gpuprof-bench --subbuf-size 4M --num-subbuf 8 peer &&
			lttng enable-event -u -s gpuprof-bench -c peer 'gpuprof_peer:*' && lttng start gpuprof-bench
	} >/dev/null 2>&1 || return 0
	LTTNG_UST_REGISTER_TIMEOUT=5000 "$build/bench/lttng_peer" >>"$figures" 2>/dev/null || true
	lttng destroy gpuprof-bench >/dev/null 2>&1 || true
}

recorded calls "$build/bench/call_cost"
count_instructions
time_peer
recorded drain "$build/bench/drain_cost" 10000 3000000 steps
recorded random "$build/bench/drain_cost" 10000 1000000 random
ring=64M recorded stall "$build/bench/checkpoint_stall" 1000000
"$build/bench/replay_rate" "$work/drain.gpr" >>"$figures"
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/loop.gpr \
	"$build/victims/training_loop" 40 >/dev/null
"$build/gpuprof" info --json "$work/loop.gpr" | tr ',{' '\n\n' |
	sed -n 's/.*"bytes_per_event": *\([0-9.]*\).*/file_bytes_per_event \1/p' >>"$figures"
[ -z "${BENCH_KEEP:-}" ] || cp "$figures" "$BENCH_KEEP"

# NAME UNIT LIMIT-KIND LIMIT ANCHOR ANCHOR'S FIGURE
cat >"$work/rows" <<'END'
launch_ns|ns added a launch|20|lttng-ust tracepoint|lttng_ns
launch_contended_ns|ns added a launch, another thread allocating||clock_gettime and ring put|clock_ring_ns
launch_instructions|instructions added a launch||bare call|launch_instructions_bare
alloc_ns|ns added an allocation or a free|20|clock_gettime and ring put|clock_ring_ns
start_us|us to open driver and recording|20000||
drain_ns_per_event|ns CPU an event at 10,000 live blocks|60|raw records with write(2)|raw_write_ns
drain_random_ns_per_event|ns CPU an event when nothing repeats||raw records with write(2)|raw_write_ns
million_live_lost|events lost at a million live blocks|0||
million_live_over_1ms|calls over 1 ms at a million live blocks||bare|million_live_bare_over_1ms
million_live_longest_us|us, the longest call there|1000|bare|million_live_bare_longest_us
replay_events_per_s|events a second and core|10000000||
replay_peak_kib|KiB, memory of the replay|||
file_bytes_per_event|bytes an event|4|record in the ring|record_bytes
END
echo "record_bytes 64" >>"$figures"
awk -F'|' -v figures="$figures" -v json="$build/bench.json" '
	BEGIN {
		while ((getline line < figures) > 0) { split(line, f, " "); value[f[1]] = f[2] }
		printf "%-24s %14s %10s   %s\n", "figure", "value", "target", "unit (anchor)"
		printf "[" >json
	}
	!($1 in value) { printf "%-24s %14s\n", $1, "not measured"; next }
	{
		# without lttng-ust the least that any recorder does
		if ($5 == "lttng_ns" && !("lttng_ns" in value)) { $4 = "clock_gettime and ring put"; $5 = "clock_ring_ns" }
		anchor = "null"; beside = ""; anchor_value = "null"
		if ($5 in value) { anchor = "\"" $4 "\""; anchor_value = value[$5]; beside = " (" $4 ": " value[$5] ")" }
		printf "%-24s %14s %10s   %s%s\n", $1, value[$1], $3, $2, beside
		printf "%s\n  {\"name\": \"%s\", \"value\": %s, \"unit\": \"%s\", ", n++ ? "," : "", $1, value[$1], $2 >json
		printf "\"anchor\": %s, \"anchor_value\": %s, \"target\": %s}", anchor, anchor_value, $3 == "" ? "null" : $3 >json
	}
	END { print "\n]" >json }' "$work/rows"
for figure in call_cost_lost drain_lost drain_random_lost; do
	awk -v f="$figure" '$1 == f && $2 > 0 { print "bench: " f " is " $2 ": these figures are too low" }' "$figures" >&2
done
