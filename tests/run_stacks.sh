#!/bin/sh
# Stacks from an unmodified Python on the fake driver to `dump`: the frames of each event must be
# those that Python itself reports.
#   run_stacks.sh BUILD   (PYTHONS="python3.12 ...": these only)
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)/stacks
work=$build/run/stacks
results=${RESULTS:-$work/results}
rm -rf "$work"
mkdir -p "$work"
failed=0
under=

if [ -z "$PYTHONS" ]; then
	PYTHONS=$(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 \
		/usr/local/bin/python3.[0-9]* /usr/bin/python3.[0-9]* 2>/dev/null |
		grep -E '/python3(\.[0-9]+)?$')
fi

# `say WHAT NAME WHY`
say() {
	echo "$1 stacks/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 stacks/$2: $3"
	[ "$1" != fail ] || failed=1
}

# record NAME ROUNDS [kill]: with $settings, under the program $under
record() {
	env LD_LIBRARY_PATH="$build/fake" LD_PRELOAD="$build/libgpuprof.so" \
		GPUPROF_OUTPUT="$work/$1.gpr" $settings \
		$under "$python" -B "$here/allocate.py" "$work/$1.said" "$2" $3 >"$work/$1.out" 2>&1
}

# judge NAME DEPTH [merged|both]: checks the whole recording
judge() {
	"$build/gpuprof" dump --json --native --kind alloc "$work/$1.gpr" \
		>"$work/$1.dumped" 2>"$work/$1.err"
	if why=$("$python" "$here/compare.py" "$work/$1.dumped" "$work/$1.said" "$2" $3 2>&1)
	then
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
	settings=GPUPROF_STACKS=both
	record "$number-both$version" 3
	judge "$number-both$version" 64 both
	if why=$(python3 "$here/judge_both.py" "$work/$number-python$version.dumped" \
		"$work/$number-both$version.dumped" "${version#3.}" 2>&1); then
		say pass "$number-all_and_both$version" "$why"
	else
		say fail "$number-all_and_both$version" "$why"
	fi
done

# Modules of PyTorch: the module whose forward ran is named as named_modules() names it. Some names
# are late if a job replaces its model each millisecond, or renames a child and calls it as before.
# The allocator of the interpreter fills freed objects, so that their pointers cannot be followed.
number=0
for python in $PYTHONS; do
	number=$((number + 1))
	version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || continue
	case $version in
	2.* | 3.[0-7] | 3.14) continue ;;
	esac
	for story in plain shared wrapped direct hidden renamed threads alone large roots \
		replaced; do
		name=$number-modules_$story$version
		share=100
		case $story in replaced | renamed) share=95 ;; esac
		LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_RING=0 \
			GPUPROF_OUTPUT=$work/$name.gpr PYTHONMALLOC=debug \
			"$python" -B "$here/module_story.py" \
			"$work/$name.said" 5 $story >"$work/$name.out" 2>&1
		"$build/gpuprof" dump --json --kind block_alloc "$work/$name.gpr" \
			>"$work/$name.dumped"
		if why=$(python3 "$here/compare_modules.py" "$work/$name.dumped" \
			"$work/$name.said" $share 2>&1); then
			say pass "$name" "$why"
		else
			say fail "$name" "$why"
		fi
	done
done

# The interpreter ends while threads allocate: the process must end as without the recorder, and no
# event may have the frames of another stack.
number=0
for python in $PYTHONS; do
	case $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') in
	2.* | 3.[0-7]) continue ;;
	esac
	number=$((number + 1))
	name=$number-ends_allocating
	why=
	for _ in 1 2 3 4 5; do
		rm -f "$work/$name.gpr"
		LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so PYTHONMALLOC=debug \
			GPUPROF_OUTPUT=$work/$name.gpr GPUPROF_RING=64M \
			"$python" -B "$here/ends_allocating.py" \
			"$build/python/liballocate_without_end.so" >"$work/$name.out" 2>&1 ||
			why="$why it ended with $?"
		said=$("$build/gpuprof" top --json --native --top 0 "$work/$name.gpr" |
			python3 "$here/judge_ends.py" /dev/stdin) || why="$why $said"
	done
	[ -z "$why" ] && say pass "$name" "$said" || say fail "$name" "$why"
done

# an interpreter with an unknown layout: its frames are missing, and each report prints that
for python in $PYTHONS; do
	case $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') in
	3.[67]) ;;
	*) continue ;;
	esac
	settings=GPUPROF_STACKS=python
	record unknown_layout 1
	sentence="no Python frames: this version of Python is not known, CPython 3.8 to 3.14 are"
	why=
	for report in "info" "peak" "top" "peak --by line" "peak --json" "info --json" "dump"; do
		"$build/gpuprof" $report "$work/unknown_layout.gpr" | grep -q "$sentence" ||
			why="$why '$report'"
	done
	[ -z "$why" ] && say pass unknown_layout "$python" ||
		say fail unknown_layout "not said by$why"
	break
done
python=$(command -v python3)
settings=GPUPROF_STACKS=python
record python_alone 3
judge python_alone 64
settings=GPUPROF_STACKS=all
record killed 3 kill
judge killed 64 merged
# a filter kills callers of process_vm_readv: the checks of a first walk must not call it
under=$build/victims/unshare_kills
record filtered 3
under=
if grep -q 'no filters of system calls' "$work/filtered.out"; then
	say skip filtered "$(cat "$work/filtered.out")"
else
	judge filtered 64 merged
fi
settings="GPUPROF_STACKS=all GPUPROF_STACK_DEPTH=5"
record shallow 1
judge shallow 5
settings="GPUPROF_STACKS=all GPUPROF_RING=1M"
record wrapped 6000
judge wrapped 64 merged
"$build/gpuprof" info --json "$work/wrapped.gpr" | grep -q '"kept_from_ns": 0,' &&
	say fail wrapped "nothing was overwritten"

# every kind of event that may have a stack has one, from main on, without a frame of the recorder
every() {
	LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_STACKS=all \
		GPUPROF_STACK_EVENTS=all GPUPROF_OUTPUT=$work/$1.gpr \
		"$build/victims/$1" $2 >"$work/$1.out" 2>&1
	"$build/gpuprof" dump --json --native "$work/$1.gpr" >"$work/$1.dumped"
	if why=$(python3 - "$work/$1.dumped" $3 <<'END'
import json, sys
wanted = {kind: 0 for kind in sys.argv[2:]}
for event in map(json.loads, open(sys.argv[1])):
    if event["kind"] not in wanted:
        continue
    stack = event.get("stack") or []
    if not any((f["function"] or "") == "main" for f in stack):
        sys.exit("not from main: %s" % event)
    if any((f["module"] or "").endswith("libgpuprof.so") for f in stack):
        sys.exit("a frame of ours: %s" % event)
    wanted[event["kind"]] += 1
print(wanted)
sys.exit(not all(wanted.values()))
END
	); then
		say pass "$1" "$why"
	else
		say fail "$1" "$why"
	fi
}
every training_loop 3 "alloc block_alloc block_free launch"
every oom_caught "" "block_alloc oom"
every driver_oom "" alloc_failed
every leak_two "" "alloc free"
every graph_capture "" "launch graph_launch"
every expandable 20 "alloc map unmap block_alloc"
every ever_new_stacks 1000 "alloc free"

# libraries at one address, one after the other: named only when certain, never wrongly
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/place.gpr \
	GPUPROF_STACKS=native "$build/victims/library_in_anothers_place" >"$work/place.out" 2>&1
"$build/gpuprof" dump --json --kind alloc "$work/place.gpr" >"$work/place.dumped"
if why=$(python3 - "$work/place.dumped" <<'END'
import json, sys
said = {1000: "libcallee_small.so", 2000: "libcallee_large.so"}
named = {1000: 0, 2000: 0}
events = [json.loads(line) for line in open(sys.argv[1])]
for event in events:
    modules = [(f["module"] or "").rsplit("/", 1)[-1] for f in event["stack"]]
    for module in modules:
        if "callee" in module and module != said[event["bytes"]]:
            sys.exit("%s named as %s" % (said[event["bytes"]], module))
    named[event["bytes"]] += said[event["bytes"]] in modules
print("%d events, %d and %d named" % (len(events), named[1000], named[2000]))
# libraries that stay for 150 ms are seen within 60
sys.exit(min(named.values()) < 200)
END
); then
	say pass place "$why"
else
	say fail place "$why"
fi

# memos of an unloaded library are not used, even for a stack that looks alike
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/alike.gpr \
	GPUPROF_STACKS=native "$build/victims/look_like_another_library" >"$work/alike.out" 2>&1
"$build/gpuprof" dump --json --native --kind alloc "$work/alike.gpr" >"$work/alike.dumped"
if why=$(python3 - "$work/alike.dumped" <<'END'
import collections, json, sys
seen = collections.Counter()
for event in map(json.loads, open(sys.argv[1])):
    names = [f["function"] for f in event["stack"]]
    large = event["bytes"] == 2000
    if "allocate" not in names or "main" not in names or ("padded" in names) == large:
        sys.exit("%d bytes: %s" % (event["bytes"], names))
    seen[large] += 1
print("%d and %d events" % (seen[True], seen[False]))
sys.exit(min(seen.values()) < 100)
END
); then
	say pass alike "$why"
else
	say fail alike "$why"
fi

# functions that are made from one source and dropped, any number of times, are one
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so \
	GPUPROF_OUTPUT=$work/anew.gpr GPUPROF_STACKS=python \
	python3 -B "$here/made_anew.py" 2000 >"$work/anew.out" 2>&1
"$build/gpuprof" info --json "$work/anew.gpr" >"$work/anew.info"
if why=$(python3 - "$work/anew.info" <<'END'
import json, sys
info = json.load(open(sys.argv[1]))
print(info["stacks"], info["events"])
sys.exit(not (info["events"]["alloc"] == 4000 and info["stacks"]["different"] < 20))
END
); then
	say pass anew "$why"
else
	say fail anew "$why"
fi

# the watch over code objects ends: no wrong names from then on, and a report prints it
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so \
	GPUPROF_OUTPUT=$work/unwatched.gpr GPUPROF_STACKS=python \
	python3 -B "$here/end_watch.py" "$work/unwatched.out" >"$work/unwatched.out" 2>&1
"$build/gpuprof" dump --json --kind alloc "$work/unwatched.gpr" >"$work/unwatched.dumped"
if why=$(python3 - "$work/unwatched.dumped" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
print(len(events), "events, the last one's:", events[-1]["stack"])
sys.exit(not (events[0]["stack"] and not events[-1]["stack"]))
END
) && grep -q "has ended the watch" "$work/unwatched.out" &&
	! grep "no room" "$work/unwatched.out"; then
	say pass unwatched "$why"
else
	say fail unwatched "$why $(cat "$work/unwatched.out")"
fi

# a full table of stacks: bounded, reported, and no event less
LD_LIBRARY_PATH=$build/fake LD_PRELOAD=$build/libgpuprof.so GPUPROF_OUTPUT=$work/new.gpr \
	GPUPROF_STACKS=native "$build/victims/ever_new_stacks" 70000 \
	>"$work/new.out" 2>"$work/new.err"
"$build/gpuprof" info --json "$work/new.gpr" >"$work/new.info"
if why=$(python3 - "$work/new.info" <<'END'
import json, sys
info = json.load(open(sys.argv[1]))
stacks = info["stacks"]
print(stacks, info["lost"])
sys.exit(not (stacks["different"] > 40000 and stacks["events_without_room"] > 1000 and
              info["events"]["alloc"] + info["lost"]["memory"] >= 70000 and info["complete"]))
END
) && grep -q "no room for more stacks" "$work/new.err"; then
	say pass ever_new "$why"
else
	say fail ever_new "$why $(cat "$work/new.err")"
fi
exit $failed
