#!/usr/bin/env bash
# Fuzzes all targets at once with libFuzzer and AFL++, one process a core, and ends with a table.
#   campaign.sh PROGRAMS SEEDS OUT SECONDS JOBS
# PROGRAMS holds a folder for each build (libfuzzer: ASan and UBSan; bounds: limits of time and
# memory; afl), and mutator.so for AFL++. SEEDS holds a folder of inputs for each target.
# FUZZ_TIMEOUT: seconds by the clock after which a run is a hang, 10 where cores are free.
set -uo pipefail
programs=$(cd "$1" && pwd) seeds=$(cd "$2" && pwd) seconds=$4 jobs=$5
mkdir -p "$3"
out=$(cd "$3" && pwd)
timeout=${FUZZ_TIMEOUT:-10}
[ ! -x "$programs/afl-fuzz" ] || PATH=$programs:$PATH
export FUZZ_DIR=${FUZZ_DIR:-/dev/shm}/campaign-$$
mkdir -p "$FUZZ_DIR"
trap 'rm -rf "$FUZZ_DIR"' EXIT

# BUILD TARGET, one process each; the most productive ones come first and more than once
items=(
	'libfuzzer commands' 'bounds commands' 'afl commands' 'libfuzzer recording'
	'libfuzzer symbols' 'libfuzzer rings' 'libfuzzer baseline' 'libfuzzer block'
	'libfuzzer commands' 'afl recording' 'bounds symbols' 'afl rings'
	'bounds commands' 'libfuzzer commands' 'afl symbols' 'libfuzzer recording'
)
present=()
for item in "${items[@]}"; do
	read -r build target <<<"$item"
	[ ! -x "$programs/$build/fuzz_$target" ] || present+=("$item")
	[ "$build" != afl ] || command -v afl-fuzz >/dev/null || unset 'present[-1]'
done
items=("${present[@]}")
rounds=$(((${#items[@]} + jobs - 1) / jobs))
share=$((seconds / rounds))

run_libfuzzer() {
	mkdir -p "$dir/corpus"
	ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=0 \
		"$programs/$build/fuzz_$target" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 \
		-ignore_ooms=1 -timeout="$timeout" -rss_limit_mb=2048 -malloc_limit_mb=1024 \
		-max_len=300000 -max_total_time="$share" -artifact_prefix="$dir/" \
		"$dir/corpus" "$seeds/$target"
}

run_afl() {
	AFL_CUSTOM_MUTATOR_LIBRARY=$programs/mutator.so FUZZ_TARGET=$target AFL_NO_UI=1 \
		AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 \
		AFL_FAST_CAL=1 AFL_CUSTOM_MUTATOR_ONLY=1 \
		afl-fuzz -V "$share" -t $((timeout * 1000)) -m none -i "$seeds/$target" \
		-o "$dir/afl" -- "$programs/$build/fuzz_$target"
}

# The last line of the log is its processor time, with that of its children.
run_item() {
	number=$1 build=$2 target=$3
	dir=$out/$number-$build-$target
	mkdir -p "$dir"
	TIMEFORMAT='cpu_s %U %S'
	{ time if [ "$build" = afl ]; then run_afl; else run_libfuzzer; fi; } >"$dir/log" 2>&1
}

for ((i = 0; i < ${#items[@]}; i += jobs)); do
	for ((k = i; k < i + jobs && k < ${#items[@]}; k++)); do
		# shellcheck disable=SC2086 # two words
		run_item "$k" ${items[k]} &
	done
	wait
done

# BUILD TARGET EXECS CPU_S CRASHES HANGS MEMORY EDGES of one folder
figures() {
	local dir=$1 stats=$1/afl/default/fuzzer_stats name build target cpu
	name=${dir##*/}
	read -r build target <<<"$(tr '-' ' ' <<<"${name#*-}")"
	cpu=$(awk '$1 == "cpu_s" { print int($2 + $3) }' "$dir/log" | tail -n 1)
	if [ "$build" = afl ]; then
		awk -v head="$build $target" -v cpu="$cpu" '
			$1 == "execs_done" { execs = $3 }
			$1 == "saved_crashes" { crashes = $3 }
			$1 == "saved_hangs" { hangs = $3 }
			$1 == "edges_found" { edges = $3 }
			END { print head, execs + 0, cpu + 0, crashes + 0, hangs + 0, 0, edges + 0 }
		' "$stats"
	else
		awk -v head="$build $target" -v cpu="$cpu" '
			/oom\/timeout\/crash: / {
				execs = substr($1, 2) + 0
				for (n = 1; n < NF; n++) {
					if ($n == "cov:") edges = $(n + 1)
					if ($n == "oom/timeout/crash:") split($(n + 1), found, "/")
				}
			}
			END {
				print head, execs + 0, cpu + 0, found[3] + 0, found[2] + 0,
					found[1] + 0, edges + 0
			}
		' "$dir/log"
	fi
}

for dir in "$out"/[0-9]*-*-*/; do
	figures "${dir%/}"
done | sort | awk '
	function row(a, b, c, d, e, f, g, h) {
		printf "%-10s %-10s %10s %8s %8s %6s %7s %7s\n", a, b, c, d, e, f, g, h
	}
	BEGIN { row("target", "build", "execs", "cpu_s", "crashes", "hangs", "memory", "edges") }
	{
		key = $2 " " $1
		if (!(key in execs)) order[++keys] = key
		execs[key] += $3; cpu[key] += $4; crashes[key] += $5; hangs[key] += $6
		memory[key] += $7; edges[key] = $8 > edges[key] ? $8 : edges[key]
		all[3] += $3; all[4] += $4; all[5] += $5; all[6] += $6; all[7] += $7
	}
	END {
		for (i = 1; i <= keys; i++) {
			split(order[i], name, " ")
			k = order[i]
			row(name[1], name[2], execs[k], cpu[k], crashes[k], hangs[k], memory[k],
				edges[k])
		}
		row("all", "", all[3], all[4], all[5], all[6], all[7], "")
		printf "%.2f CPU hours\n", all[4] / 3600
	}' | tee "$out/table"
