#!/bin/sh
# Jobs beside other tools: debuggers, tracers, sanitizers, allocators, other preloads. Each runs
# under the tool twice, bare and recorded. Output and exit status must be the same, the recording
# whole, and the tool must have done its work both times.  run_company.sh BUILD [NAME...]
#
# Run on Debian 12: gdb 13.1, strace 6.1, perf 6.1, valgrind 3.19, AddressSanitizer and
# ThreadSanitizer of gcc 12.2 and clang 14, jemalloc 5.3.0, tcmalloc 2.10, CPython 3.11. py-spy
# itself was not run: a program of ours stops the threads with ptrace and reads the interpreter with
# process_vm_readv.
# - AddressSanitizer's runtime refuses to start behind a preload. We define no function that it
#   intercepts, so `gpuprof run` sets verify_asan_link_order=0 in ASAN_OPTIONS.
# - ThreadSanitizer ends forked children that begin a thread, so it sets die_after_fork=0 in
#   TSAN_OPTIONS.
# - memcheck reports each read of memory that the job has not written, so native frames are off.
# On a GPU `make check-gpu SECTIONS=compatibility` does the same with ncu, nsys, compute-sanitizer,
# cuda-gdb, torch.profiler, faulthandler, 64 DataLoader workers and a limit of memory. It passed on
# an H200 (2026-11-22, driver 580.159, Ubuntu 24.04, Python 3.12, PyTorch 2.11, Nsight Compute
# 2025.3.1). nsys did not end within 60 s for the PyTorch job, bare or recorded.
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
shift
ours=$build/libgpuprof.so
dir=$build/run/company
results=${RESULTS:-$dir/results}
python=${PYTHON:-python3}
failed=0
mkdir -p "$dir"
: >"$dir/why"

# ---- functions for companies `preload` is the recorder in the recorded run and empty in the bare
# one. A company writes evidence that the tool worked to `proof`. Where it cannot run, it prints the
# reason to `why` and returns 77.

no() { echo "$*" >why; return 77; }
need() { command -v "$1" >/dev/null || no "no $1 here"; }

# job COMMAND...: runs it with the libraries in `others`, and recorded if `preload` is set
job() {
	all=$(printf '%s\n' $others_before $preload $others_behind | paste -sd:)
	timeout -k 5 240 env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$all" $settings "$@"
}
# variables that a tool sets for the job that it starts
settings_of_job() {
	echo "LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$preload"
}

# attended PROGRAM...: runs it, applies `attach` to its process once it is busy, then ends it
attended() {
	rm -f in out.fifo
	mkfifo in out.fifo
	job "$@" <in >out.fifo &
	job_pid=$!
	exec 7>in 8<out.fifo
	read -r _ pid <&8
	attach "$pid" >tool.out 2>&1
	tool_status=$?
	exec 7>&-
	cat <&8
	exec 8<&-
	wait "$job_pid"
	status=$?
	[ "$tool_status" = 0 ] || { [ "$tool_status" = 77 ] && no "$(tail -n 1 tool.out)"; } || {
		echo "the tool ended with $tool_status"
		return 1
	}
	return "$status"
}

victim() { job "$build/victims/$1" ${2:+"$2"}; }
python_job() { job "$python" "$here/company/traced_job.py" "$@"; }

# ---- the companies

gdb_attached() {
	need gdb || return
	attach() {
		gdb -nx -batch -p "$1" -ex 'thread apply all backtrace 4' -ex detach
		grep -q 'detached' tool.out && grep '^#0 ' tool.out | grep -c . >proof
		! grep -q 'Operation not permitted' tool.out || return 77
	}
	attended "$build/victims/run_until_told"
}
gdb_started() {
	need gdb || return
	gdb -nx -batch -ex "set exec-wrapper env $(settings_of_job) $settings" \
		-ex 'run >job.out' -ex 'print $_exitcode' \
		--args "$build/victims/training_loop" 4 >gdb.out 2>&1
	cat job.out
	grep '^\$1' gdb.out | tee proof
}
strace_job() {
	need strace || return
	strace -o /dev/null true 2>/dev/null || no "strace may not trace here" || return
	strace -f -o trace env $(settings_of_job) $settings "$build/victims/training_loop" 4
	status=$?
	grep -c exit_group trace >proof
	return $status
}
strace_attached() {
	need strace || return
	strace -o /dev/null true 2>/dev/null || no "strace may not trace here" || return
	attach() {
		rm -f trace
		strace -f -o trace -p "$1" &
		tracer=$!
		until [ -s trace ] || ! kill -0 $tracer; do sleep 0.05; done
		kill -INT $tracer
		wait $tracer
		[ -s trace ] && echo traced >proof
		return 0
	}
	attended "$build/victims/run_until_told"
}
perf_job() {
	need perf || return
	perf record -q -o perf.data true >/dev/null 2>&1 || no "perf may not record here" || return
	perf record -q -g -o perf.data env $(settings_of_job) $settings \
		"$build/victims/training_loop" 20 2>perf.err
	status=$?
	[ -s perf.data ] && echo recorded >proof
	return $status
}
stopped_and_read() {
	need "$python" || return
	attach() {
		"$build/company/stop_and_read" "$1" 20 && cp tool.out proof
	}
	attended "$python" "$here/company/traced_job.py" attend
}
# stopped and continued by signals, as a terminal and a batch system do
stopped_by_signals() {
	attach() {
		for _ in 1 2 3 4 5; do
			kill -STOP "$1"
			until grep -q '^State:.T' "/proc/$1/status" || ! kill -0 "$1"; do :; done
			kill -CONT "$1" || return
		done
		echo stopped >proof
	}
	attended "$build/victims/run_until_told"
}

valgrind_job() {
	need valgrind || return
	env $(settings_of_job) $settings valgrind $3 --error-exitcode=9 --log-file=log \
		"$build/victims/$1" $2
	status=$?
	sed -n 's/^==[0-9]*== \(ERROR SUMMARY: [0-9]* errors\).*/\1/p' log | tee proof
	return $status
}
valgrind_memcheck() { valgrind_job training_loop 3; }
# without its leak check, which has a page fault for each page of ours that a forked child does not
# inherit
valgrind_threads() { valgrind_job launch_from_threads 101 --leak-check=no; }

# the recorder first, as users preload it; AddressSanitizer's runtime then ends the job, unless an
# option allows it
asan_job() {
	[ -x "$build/company/asan_faults" ] || no "the compiler has no AddressSanitizer" || return
	"$@" 2>report
	status=$?
	sed 's/==[0-9]*==//; s/0x[0-9a-f]*/ADDRESS/g' report | grep 'ERROR\|SUMMARY\|does not come'
	echo "ended with $status" >proof
	return $status
}
asan_behind() {
	others_behind=$(${CC:-gcc} -print-file-name=libasan.so)
	settings="$settings ASAN_OPTIONS=verify_asan_link_order=0"
	asan_job job "$build/company/asan_faults"
}
asan_before() {
	others_before=$(${CC:-gcc} -print-file-name=libasan.so)
	asan_job job "$build/company/asan_faults"
}
# run_by_us JOB COMMAND...: runs COMMAND with `gpuprof run`, with the settings of JOB
run_by_us() {
	wanted_by=$1
	shift
	if [ -n "$preload" ]; then
		set -- "$build/gpuprof" run -q --no-symbolize -- "$@"
	fi
	$wanted_by env LD_LIBRARY_PATH="$build/fake" $settings "$@"
}
asan_run_by_us() { run_by_us asan_job "$@"; }
asan_clean() { asan_run_by_us "$build/company/asan_faults"; }
asan_leak() { asan_run_by_us "$build/company/asan_faults" leak; }
asan_overflow() { asan_run_by_us "$build/company/asan_faults" overflow; }

# its runtime reserves fixed addresses, which address randomization sometimes gives to others
tsan_job() {
	setarch -R true 2>/dev/null && set -- setarch -R "$@"
	"$@" 2>report
	status=$?
	! grep -q 'unexpected memory mapping' report || no "ThreadSanitizer finds no room" || return
	grep 'WARNING\|SUMMARY\|Dying' report | sed 's/ (pid=.*//'
	echo "ended with $status" >proof
	return $status
}
# tsan PROGRAM [race]: recorded; also where recording is off, the library must not change the result
tsan() {
	[ -x "$build/company/$1" ] || no "no ThreadSanitizer for $1" || return
	program=$build/company/$1
	shift
	tsan_job env $(settings_of_job) GPUPROF=off "$program" "$@" || [ $? != 77 ] || return
	run_by_us tsan_job "$program" "$@"
}
tsan_clean() { tsan tsan_race; }
tsan_race() { tsan tsan_race race; }
tsan_clang_clean() { tsan tsan_race_clang; }
tsan_clang_race() { tsan tsan_race_clang race; }

# allocator LIBRARY: its path, as the loader finds it
allocator() {
	found=$(PATH=$PATH:/sbin ldconfig -p | sed -n "s/^[[:space:]]*$1 (.*=> //p" | head -n 1)
	[ -n "$found" ] || no "no $1 here"
}
under_allocator() {
	need "$python" || return
	settings="$settings GPUPROF_STACKS=all GPUPROF_STACK_EVENTS=memory"
	job grep -c "$found" /proc/self/maps >proof
	job "$python" "$here/company/traced_job.py" signal 2>/dev/null &&
		victim short_threads 200 && victim training_loop 4
}
jemalloc_before() { allocator libjemalloc.so.2 && others_before=$found under_allocator; }
jemalloc_behind() { allocator libjemalloc.so.2 && others_behind=$found under_allocator; }
tcmalloc_before() { allocator libtcmalloc_minimal.so.4 && others_before=$found under_allocator; }
tcmalloc_behind() { allocator libtcmalloc_minimal.so.4 && others_behind=$found under_allocator; }

greedy_malloc() {
	need "$python" || return
	settings="$settings GPUPROF_STACKS=all GREEDY_COUNT=proof PYTHONMALLOC=malloc"
	job "$python" "$here/company/traced_job.py" signal 2>/dev/null
}
greedy_before() {
	others_before=$build/company/greedy_malloc.so
	greedy_malloc
}
greedy_behind() {
	others_behind=$build/company/greedy_malloc.so
	greedy_malloc
}
audited() {
	settings="$settings LD_AUDIT=$build/company/count_bindings.so BINDINGS_COUNT=count"
	victim training_loop 4 && victim short_threads 200
	status=$?
	cp count proof
	return $status
}

faulthandler() {
	need "$python" || return
	python_job "$1" >report 2>&1
	status=$?
	sed 's/0x[0-9a-f]*/ADDRESS/g' report
	grep 'most recent call first' report >proof
	return $status
}
faulthandler_later() { faulthandler later; }
faulthandler_signal() { faulthandler signal; }
faulthandler_segv() { faulthandler segv; }

all='gdb_attached gdb_started strace_job strace_attached perf_job stopped_and_read
	stopped_by_signals valgrind_memcheck valgrind_threads asan_behind asan_before asan_clean
	asan_leak asan_overflow tsan_clean tsan_race tsan_clang_clean tsan_clang_race
	jemalloc_before jemalloc_behind tcmalloc_before tcmalloc_behind greedy_before greedy_behind
	audited faulthandler_later faulthandler_signal faulthandler_segv'

# ---- how they are run and judged

# run COMPANY SUFFIX PRELOAD
run() {
	mkdir -p "$work/$2"
	(
		cd "$work/$2" || exit 2
		preload=$3 others_before= others_behind=
		settings="GPUPROF_OUTPUT=$work/%p-%t.gpr VICTIM_CLAIMS=$work/claims"
		[ -n "$preload" ] || settings="VICTIM_CLAIMS=/dev/null"
		"$1" >out 2>err
		echo $? >status
	)
}

# judge COMPANY: leaves `why` empty when the runs are as expected
judge() {
	why=
	for what in status out err; do
		cmp -s "$work/bare/$what" "$work/recorded/$what" ||
			why="$why $what: $(diff "$work/bare/$what" "$work/recorded/$what" |
				head -n 3 | tr '\n' ';')"
	done
	[ -z "$why" ] || { why="recorded and bare differ in$why"; return; }
	[ -s "$work/bare/proof" ] && [ -s "$work/recorded/proof" ] ||
		{ why="the tool did not do its work"; return; }
	ls "$work"/*.gpr >/dev/null 2>&1 || { why="no recording"; return; }
	"$build/storm/expect" "$work/claims" "$work"/*.gpr >"$work/verdict" 2>&1 ||
		{ why=$(grep '^not so' "$work/verdict" | head -n 3 | tr '\n' ';'); return; }
	for recording in "$work"/*.gpr; do
		"$build/gpuprof" verify "$recording" >"$work/verified" 2>&1 ||
			why="verify: $(head -n 1 "$work/verified")"
	done
}

[ $# -gt 0 ] || set -- $all
for company in "$@"; do
	work=$dir/$company
	rm -rf "$work"
	run "$company" bare ""
	if [ "$(cat "$work/bare/status")" = 77 ]; then
		echo "skip company/$company $(cat "$work/bare/why")" | tee -a "$results"
		continue
	fi
	run "$company" recorded "$ours"
	judge "$company"
	if [ -z "$why" ]; then
		echo "pass company/$company" >>"$results"
		rm -f "$work"/*.gpr
	else
		echo "fail company/$company $why (see $work)" | tee -a "$results"
		failed=1
	fi
done
exit $failed
