#!/bin/sh
# Runs the measuring programs. Prints a table of their figures beside limits and anchors from the same run, and writes
# the same as JSON to BUILD/bench.json. A figure is a median with the lowest and highest value. Exceeded limits are
# only printed: the script fails only when a program fails.
#	bench.sh BUILD
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
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

# recorded NAME PROGRAM...: runs PROGRAM on the fake driver and keeps its figures
recorded() {
	name=$1
	shift
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/$name.gpr \
		GPUPROF_RING=${ring:-0} GPUPROF_STACKS=${stacks:-off} "$@" >>"$figures"
}

# Counts the instructions of the main thread for N calls (launches, or pairs of allocation and free). The
# difference of two runs with different N excludes the start.
instructions() {
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/callgrind-%p.gpr \
		GPUPROF_CAPTURE_RANGE=${range:-none} GPUPROF_STACKS=${stacks:-off} \
		valgrind -q --tool=callgrind --separate-threads=yes --toggle-collect="counted_calls*" \
		--callgrind-out-file="$work/callgrind.$1.$2.$3" \
		"$build/bench/call_cost" "$1" "$2" "$3" >/dev/null 2>&1
	sed -n 's/^totals: //p' "$work/callgrind.$1.$2.$3-01"
}
# added KIND NAME CALLS-A-ROUND
added() {
	few_wrapped=$(instructions "$1" 1000 wrapped) many_wrapped=$(instructions "$1" 11000 wrapped)
	few_bare=$(instructions "$1" 1000 bare) many_bare=$(instructions "$1" 11000 bare)
	awk -v a="$few_wrapped" -v b="$many_wrapped" -v c="$few_bare" -v d="$many_bare" -v name="$2" -v n="$3" 'BEGIN {
		printf "%s_instructions %.1f\n", name, (b - a - (d - c)) / 10000 / n
		printf "%s_instructions_bare %.1f\n", name, (d - c) / 10000 / n }' >>"$figures"
}
count_instructions() {
	command -v valgrind >/dev/null || return 0
	added launches launch 1
	added pairs alloc 2
	added copies copy 1
	added waits wait 1
	added queries query 1
	added replays replay 1
	added large_replays large_replay 1
	# with stacks, which cost nothing while no graph is captured
	stacks=native
	added pairs alloc_stack 2
	added copies copy_stack 1
	range=ctl
	added launches outside_launch 1
	added pairs outside_alloc 2
	stacks='' range=''
}

# An lttng session of this script, with the peer's event enabled.
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

# mixed NAME STACKS PYTHON C [main]: see mixed_stack.py
mixed() {
	event=$1 stacks=$2
	shift 2
	recorded "$event-$run" "$python" "$here/mixed_stack.py" "$build/bench/libmixed_stack.so" "$event" "$@"
	stacks=
	[ "$run" != 3 ] || [ "$event" = plain_event ] ||
		"$build/gpuprof" dump --bare --json --native --kind alloc "$work/$event-3.gpr" | tail -n 1 |
		grep -o '"function"' | awk -v name="${event}_frames" 'END { print name, NR }' >>"$figures"
}
# Stacks of 40 frames, 24 of them native: in a thread, then in the main thread, where the frames of
# the interpreter's start are added.
time_stacks() {
	"$build/bench/native_cost" "$build/libgpuprof-unwind.so" 2>/dev/null >>"$figures" || true
	# the interpreter's own path: `python3` may be a script
	python=$(python3 -c 'import ctypes, sys; print(sys.executable)' 2>/dev/null) || return 0
	for run in 1 2 3; do
		"$python" "$here/python_cost.py" "$build/bench/libpython_cost.so" >>"$figures" || return 0
		mixed plain_event off 16 9
		mixed full_event all 16 9
		mixed deep_event all 20 15 main
	done
}

# block NAME KIB VARIABLE=VALUE...: see block_cost.py
block() {
	name=block_$1_$2 kib=$2
	shift 2
	env LD_LIBRARY_PATH="$build/fake/torch-2.11/lib:$build/fake" "$@" \
		"$python" "$here/block_cost.py" "$build/bench/libblock_cost.so" "$name" "$kib" 20 >>"$figures"
}
# All that is recorded by default, with warm and with cold caches.
time_blocks() {
	python=$(python3 -c 'import ctypes, sys; print(sys.executable)' 2>/dev/null) || return 0
	for run in 1 2 3 4 5; do
		for kib in 0 1024; do
			block bare "$kib"
			block kept "$kib" LD_PRELOAD="$build/libgpuprof.so" GPUPROF_OUTPUT="$work/block-%p.gpr" GPUPROF_STACKS=all
		done
	done
}

# A job whose modules have names, and one without; both with the default stacks.
time_modules() {
	python=$(python3 -c 'import ctypes, sys; print(sys.executable)' 2>/dev/null) || return 0
	for run in 1 2 3; do
		LD_LIBRARY_PATH="$build/fake/torch-2.11/lib:$build/fake" LD_PRELOAD=$build/libgpuprof.so \
			GPUPROF_OUTPUT=$work/modules-$run.gpr "$python" -B "$here/module_cost.py" 400 >>"$figures"
	done
}

# bytes_per_event NAME RECORDING...
bytes_per_event() {
	name=$1
	shift
	for recording in "$@"; do
		[ ! -e "$recording" ] || "$build/gpuprof" info --json "$recording" | tr ',{' '\n\n' |
			sed -n "s/.*\"bytes_per_event\": *\([0-9.]*\).*/$name \1/p" >>"$figures"
	done
}

recorded calls "$build/bench/call_cost"
GPUPROF_TRACK_ACCESS=on recorded uses "$build/bench/use_cost"
recorded ranges "$build/bench/range_cost"
count_instructions
time_peer
LD_LIBRARY_PATH=$build/fake GPUPROF_OUTPUT=$work/start-%p.gpr "$build/bench/start_cost" "$build/libgpuprof.so" \
	"$build/victims/leak_two" >>"$figures"
for run in 1 2 3 4 5; do
	recorded "drain-$run" "$build/bench/drain_cost" 10000 1000000 steps
	recorded "random-$run" "$build/bench/drain_cost" 10000 300000 random
done
recorded long "$build/bench/drain_cost" 10000 10000000 steps
ring=64M recorded stall "$build/bench/checkpoint_stall" 1000000
recorded one "$build/bench/memory_cost" 1_thread 1 0
recorded sixteen "$build/bench/memory_cost" 16_threads 16 0
recorded million "$build/bench/memory_cost" million_live 1 1000000
time_stacks
time_blocks
time_modules
"$build/bench/replay_rate" "$work/drain-1.gpr" replay_million >>"$figures"
"$build/bench/replay_rate" "$work/long.gpr" >>"$figures"
"$build/bench/state_at" "$work/long.gpr" >>"$figures"
"$build/bench/frag_rate" "$work/long.gpr" >>"$figures"
"$build/bench/lives_rate" "$work/long.gpr" >>"$figures" 2>/dev/null
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/loop.gpr \
	"$build/victims/training_loop" 40 >/dev/null
for file in "$here"/../tests/data/*h200*.gpr; do
	case $file in
	*stacks*) bytes_per_event stack_bytes_per_event "$file" ;;
	# the other recordings are short or contain stacks
	*gpt* | *mlp*) bytes_per_event file_bytes_per_event "$file" ;;
	esac
done
bytes_per_event fake_bytes_per_event "$work/loop.gpr"
[ -z "${BENCH_KEEP:-}" ] || cp "$figures" "$BENCH_KEEP"

# NAME|UNIT|TARGET|ANCHOR|ANCHOR'S FIGURE. Memory targets: 32 MiB, 2 MiB a thread, 96 bytes a live allocation;
# definitions may add the 8 MiB of GP_DEFINITIONS_BYTES. A target with an x is a multiple of the anchor's figure.
cat >"$work/rows" <<'END'
launch_ns|ns added a launch|20|lttng-ust tracepoint|lttng_ns
launch_contended_ns|ns added a launch, another thread allocating||clock_gettime and ring put|clock_ring_ns
launch_instructions|instructions added a launch||bare call|launch_instructions_bare
use_scan_ns|ns added a launch of 68 words by --track-access|150|the words copied|use_copy_ns
alloc_ns|ns added an allocation or a free|20|clock_gettime and ring put|clock_ring_ns
copy_ns|ns added a copy|30|clock_gettime and ring put|clock_ring_ns
wait_ns|ns added a call that waits|30|clock_gettime and ring put|clock_ring_ns
replay_ns|ns added a launch of a graph|60|clock_gettime and ring put|clock_ring_ns
object_ns|ns added a driver object made or destroyed (events)||clock_gettime and ring put|clock_ring_ns
alloc_instructions|instructions added an allocation or a free||bare call|alloc_instructions_bare
copy_instructions|instructions added a copy||bare call|copy_instructions_bare
wait_instructions|instructions added a call that waits||bare call|wait_instructions_bare
query_instructions|instructions added a query that is ready||bare call|query_instructions_bare
replay_instructions|instructions added a launch of a graph of 10 nodes||bare call|replay_instructions_bare
large_replay_instructions|likewise, of 10,000 nodes||10 nodes|replay_instructions
copy_stack_instructions|a copy, with a native stack that repeats||bare call|copy_stack_instructions_bare
nvtx_ns|ns added a push or a pop of NVTX|30|clock_gettime and ring put|clock_ring_ns
registered_ns|ns added, likewise in a domain, with registered names and payloads|30|clock_gettime and ring put|clock_ring_ns
nccl_ns|ns added a whole range of a call of NCCL, with its payload||no tool|nccl_ns_bare
range_ns|ns added a whole range whose names are written into one buffer in turn|60|no tool|range_ns_bare
alloc_stack_instructions|likewise, with a native stack that repeats||bare call|alloc_stack_instructions_bare
outside_launch_instructions|a launch, outside of what is captured||bare call|outside_launch_instructions_bare
outside_alloc_instructions|an allocation or a free there||without stacks, inside|alloc_instructions
start_ms|ms, a short process from fork to end, added|20|bare process|start_bare_ms
drain_ns_per_event|ns CPU an event at 10,000 live blocks|60|raw records with write(2)|raw_write_ns
drain_random_ns_per_event|ns CPU an event when nothing repeats||raw records with write(2)|raw_write_ns
million_live_lost|events lost at a million live blocks|0||
million_live_waits_over_1ms|calls there that slept over 1 ms|0|bare|million_live_bare_waits_over_1ms
million_live_over_1ms|calls there over 1 ms, also off the processor||bare|million_live_bare_over_1ms
million_live_longest_wait_us|us, the longest call there that slept|1000|bare|million_live_bare_longest_wait_us
memory_1_thread_kib|KiB added by one thread|34816||
memory_16_threads_kib|KiB added by 16 threads|65536||
memory_million_live_kib|KiB added by one thread and a million live|128566||
native_stack_ns_10|ns, 10 frames in a new combination|1.1x|unw_backtrace|native_stack_ns_10_anchor
native_stack_ns_30|ns, 30 frames in a new combination|1.1x|unw_backtrace|native_stack_ns_30_anchor
native_stack_ns_60|ns, 60 frames in a new combination|1.1x|unw_backtrace|native_stack_ns_60_anchor
repeat_stack_ns|ns, 64 frames that repeat|60||
python_frame_ns|ns a Python frame, with the identity of its code object|10|frames alone|python_walk_frame_ns
full_event_frames|frames of the full event, Python and native|||
full_event_ns|ns added an event with that stack, which repeats|250|without a stack|plain_event_ns
full_event_of_64_ns|ns added, one of 64 such stacks in turn||without a stack|plain_event_of_64_ns
full_event_new_ns|ns added, such a stack that was never seen|400|without a stack|plain_event_new_ns
full_event_new_inner_ns|ns added, never seen and new in its inner frames alone|400|without a stack|plain_event_new_inner_ns
deep_event_frames|frames of the deep event|||
deep_event_ns|ns added an event with that stack, which repeats||without a stack|plain_event_ns
deep_event_new_ns|ns added, such a stack that was never seen||without a stack|plain_event_new_ns
block_kept_0_alloc_ns|ns a block, allocator and timer with it||not recorded|block_bare_0_alloc_ns
block_kept_0_release_ns|ns its release, likewise||not recorded|block_bare_0_release_ns
block_kept_1024_alloc_ns|ns a block with cold caches||not recorded|block_bare_1024_alloc_ns
block_kept_1024_release_ns|ns its release with cold caches||not recorded|block_bare_1024_release_ns
module_call_ns|ns a call of a module with two blocks, all recorded||without modules|plain_call_ns
replay_events_per_s|events a second and core|10000000||
replay_peak_kib|KiB of the reader at 10 million events||at a million events|replay_million_peak_kib
state_at_ms|ms CPU, state at the slowest of three moments of 10 million events|500||
frag_curve_events_per_s|events a second and core, largest gap after each|10000000|replay alone|replay_events_per_s
lives_ns_per_event|ns CPU an event, lives and curves of 10 million events|||
lives_peak_kib|KiB of the reader for them|||
file_bytes_per_event|bytes an event, recordings of an H200|4|record in the ring|record_bytes
stack_bytes_per_event|bytes an event, likewise with stacks, modules and names||record in the ring|record_bytes
fake_bytes_per_event|bytes an event, training loop on the fake driver||record in the ring|record_bytes
END
echo "record_bytes 64" >>"$figures"
sort -k1,1 -k2,2g "$figures" | awk -F'|' -v figures=- -v json="$build/bench.json" '
	function middle(name) { return (all[name, int((n[name] + 1) / 2)] + all[name, int(n[name] / 2) + 1]) / 2 }
	BEGIN {
		while ((getline line < figures) > 0) { split(line, f, " "); all[f[1], ++n[f[1]]] = f[2] }
		printf "%-28s %12s %25s %10s   %s\n", "figure", "median", "lowest to highest", "target", "unit (anchor)"
		printf "[" >json
	}
	!($1 in n) { printf "%-28s %12s\n", $1, "not measured"; next }
	{
		# without lttng-ust, the anchor is the least work that any recorder does
		if ($5 == "lttng_ns" && !("lttng_ns" in n)) { $4 = "clock_gettime and ring put"; $5 = "clock_ring_ns" }
		value = sprintf("%.10g", middle($1)); low = all[$1, 1]; high = all[$1, n[$1]]
		anchor = "null"; beside = ""; anchor_value = "null"; spread = ""
		if ($5 in n) {
			anchor_value = sprintf("%.10g", middle($5))
			anchor = "\"" $4 "\""; beside = " (" $4 ": " anchor_value ")"
		}
		if ($3 ~ /x$/) $3 = anchor_value == "null" ? "" : sprintf("%.1f", $3 * anchor_value)
		if (n[$1] > 1) spread = low " to " high
		printf "%-28s %12s %25s %10s   %s%s\n", $1, value, spread, $3, $2, beside
		printf "%s\n  {\"name\": \"%s\", \"value\": %s, \"unit\": \"%s\", ", k++ ? "," : "", $1, value, $2 >json
		printf "\"anchor\": %s, \"anchor_value\": %s, ", anchor, anchor_value >json
		printf "\"target\": %s, \"lowest\": %s, \"highest\": %s}", $3 == "" ? "null" : $3, low, high >json
	}
	END { print "\n]" >json }' "$work/rows"
awk '$1 ~ /_lost$/ && $1 != "million_live_lost" && $2 > 0 {
	print "bench: " $1 " is " $2 ": these figures are too low" }' "$figures" >&2
