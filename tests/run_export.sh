#!/bin/sh
# Checks snapshot pickles of `gpuprof export` with a separate reader, tests/export/check_pickle.py:
# of the recordings in tests/data, whole and damaged; of invented jobs with known acts; of spans.
# Also reads them with PyTorch's own viewer where it is installed.
#   run_export.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/export
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2

say() {
	echo "$1 export/$2 $3" >>"$results"
	[ "$1" = pass ] || echo "$1 $2: $3"
	[ "$1" != fail ] || failed=1
}
python3 -c 'import pickletools' 2>/dev/null || { say skip python "no python3"; exit 0; }

# export_to NAME RECORDING ARGUMENT...: writes NAME.pickle; false: it is missing, and a test failed
export_to() {
	to=$1 from=$2
	shift 2
	"$build/gpuprof" export --format torch "$@" -o "$to.pickle" "$from" 2>"$to.err"
	status=$?
	[ $status = 0 ] || [ $status = "${allowed:-0}" ] && return
	say fail "$to" "export ends with $status: $(head -n 1 "$to.err")"
	return 1
}

# judge NAME ARGUMENT...: arguments of the checker
judge() {
	of=$1
	shift
	if python3 "$here/export/check_pickle.py" "$of.pickle" "$@" >"$of.out" 2>&1; then
		say pass "$of"
	else
		say fail "$of" "$(grep -m 1 . "$of.out") (see $dir/$of.out)"
	fi
}

started() {
	"$build/gpuprof" info --json "$1" 2>/dev/null |
		sed -n 's/.*"start_unix_ns": \([0-9]*\).*/\1/p'
}

for recording in "$here"/data/*.gpr; do
	name=$(basename "$recording" .gpr)
	"$build/gpuprof" dump --json --bare "$recording" >"$name.events"
	export_to "$name" "$recording" && judge "$name" "$name.events" "$(started "$recording")"
	export_to "$name-bare" "$recording" --no-stacks && judge "$name-bare"
	# torn and with a hole: any event may be missing, and the viewers must still read it
	size=$(wc -c <"$recording")
	head -c $((size * 7 / 10)) "$recording" >torn.gpr
	allowed=3 export_to "$name-torn" torn.gpr && judge "$name-torn"
	for part in 4 8; do
		cp "$recording" flipped.gpr
		printf 'damaged' |
			dd of=flipped.gpr bs=1 seek=$((size * part / 10)) conv=notrunc 2>/dev/null
		allowed=3 export_to "$name-flipped-$part" flipped.gpr &&
			judge "$name-flipped-$part"
	done
done

# the allocator's reports: all, only the basic ones, all from the middle on
for mode in b a late; do
	for seed in 1 2 3 4; do
		name=invented-$mode-$seed
		"$build/export/write_history" "$name.gpr" "$name.expected" $seed $((seed * 1000)) \
			$mode || say fail "$name" "no recording"
		"$build/gpuprof" dump --json "$name.gpr" >"$name.events"
		export_to "$name" "$name.gpr" &&
			judge "$name" "$name.events" 5000001024 "$name.expected"
	done
	for span in "5000 90000" "64000 200000" "100000 100000"; do
		first=${span% *} last=${span#* } name=span-$mode-${span% *}
		"$build/gpuprof" dump --json --from $first --to $last invented-$mode-4.gpr \
			>"$name.events"
		export_to "$name" invented-$mode-4.gpr --from $first --to $last &&
			judge "$name" "$name.events" 5000001024
	done
	name=device-$mode
	"$build/gpuprof" dump --json --device 1 invented-$mode-4.gpr >"$name.events"
	export_to "$name" invented-$mode-4.gpr --device 1 && judge "$name" "$name.events" 5000001024
done

# pieces: each is a snapshot of its own, and joined they are the whole
for of in "$here/data/h200_gpt_expandable.gpr" invented-b-4.gpr invented-late-4.gpr \
	"invented-b-4.gpr --from 20000 --to 150000"; do
	most=1000 span=
	case $of in
	*expandable*) most=8000 ;;
	*" "*) most=500 span=" ${of#* }" of=${of%% *} ;;
	esac
	name=pieces-$(basename "$of" .gpr)${span:+-span}
	# shellcheck disable=SC2086 # options
	export_to "$name-whole" "$of" $span
	# shellcheck disable=SC2086
	export_to "$name" "$of" --entries $most $span || continue
	for piece in "$name".pickle "$name"-[0-9]*.pickle; do
		judge "${piece%.pickle}"
	done
	python3 "$here/export/join_pieces.py" $most "$name-whole.pickle" "$name.pickle" \
		"$name"-[0-9]*.pickle >"$name.joined" 2>&1 && say pass "$name-joined" ||
		say fail "$name-joined" "$(tail -n 1 "$name.joined")"
done

# a recorder with an allocator's trackers
for how in "" expandable; do
	name=told$how torch=$build/fake/torch-2.11/lib
	[ -d "$torch" ] || continue
	LD_LIBRARY_PATH=$torch:$build/fake GPUPROF_RING_DIR=$dir "$build/gpuprof" run -q \
		--allocator-details=on --no-symbolize -o "$name.gpr" -- \
		"$build/victims/other_streams" $how \
		>"$name.err" 2>&1
	"$build/gpuprof" dump --json "$name.gpr" >"$name.events"
	export_to "$name" "$name.gpr" && judge "$name" "$name.events" "$(started "$name.gpr")"
done

viewer=$(python3 -c '
import importlib.util, os
spec = importlib.util.find_spec("torch")
path = spec and os.path.join(spec.submodule_search_locations[0], "cuda", "_memory_viz.py")
print(path if path and "segment_plot" in open(path).read() else "")' 2>/dev/null)
if [ -z "$viewer" ]; then
	say skip viewer "no PyTorch 2 here"
	exit $failed
fi
for pickle in *.pickle; do
	name=viewer-${pickle%.pickle} why=
	for action in stats trace trace_plot segment_plot; do
		case $action in *_plot) set -- -o plot.html -d 0;; *) set --;; esac
		python3 "$viewer" $action "$pickle" "$@" >"$name.$action" 2>&1 ||
			why="$action: $(tail -n 1 "$name.$action")"
	done
	[ -z "$why" ] && say pass "$name" || say fail "$name" "$why"
done
exit $failed
