#!/usr/bin/env bash
# Checks the terminal sessions in README.md: runs their commands ("$ ...") on the fake driver and
# compares the output. `readme_session.sh write` puts the new output into README.md. Durations,
# moments, file sizes and curves vary between runs, so they are written unchanged and compared as
# blanks. Peaks are compared. Python before 3.11 has no class in a function's name. The directory is
# shown as /srv/job; its train.py is tests/stacks/operators.py.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${BUILD:-build}" && pwd)
most=20
begin='<!-- session -->' end='<!-- end of session -->'

# session NUMBER
session() {
	awk -v begin="$begin" -v end="$end" -v wanted="$1" '
		$0 == begin { on = ++number == wanted; next }
		$0 == end { on = 0 }
		on && !/^```/' README.md
}
masked() {
	sed -E 's/^ +0( +[0-9.]+ (ns|us|ms|s))+$/TIMES/
		s/[0-9][0-9.,]* (ns|us|ms|s|m|h)\b/T/g
		s/[0-9][0-9.,]* (B|KiB|MiB)( of file| on disk|, [0-9.]+ (B|bytes) an event)/FILE/g
		s/[0-9.]+ bytes an event/FILE/g; s/\([0-9.,]+ (B|KiB|MiB)\)/(FILE)/g
		s/\b[A-Z][A-Za-z]*\.(forward|step|_init_group)\b/\1/g
		s/[░▒▓█][░▒▓█ ]*/CURVES /g; s/[─┬]+/AXIS/g; s/ +/ /g; s/ $//'
}

sessions=$(grep -c "^$begin\$" README.md) || {
	echo "README.md:1: no session, expected: commands between $begin and $end"
	exit 1
}

directory=$build/run/readme
rm -rf "$directory"
mkdir -p "$directory"
cp tests/stacks/operators.py "$directory/train.py"
export PATH=$build:$build/victims:$PATH LD_LIBRARY_PATH=$build/fake GPUPROF_RING_DIR=$directory
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
for ((k = 1; k <= sessions; k++)); do
	session $k | sed -n 's/^\$ //p' | while IFS= read -r command; do
		printf '$ %s\n' "$command"
		(cd "$directory" && timeout 60 bash -c "$command" 2>&1 </dev/null) || true
	done | sed "s:$directory/:/srv/job/:g" >"$build/run/readme.$k"
done

if [ "${1:-}" = write ]; then
	awk -v begin="$begin" -v end="$end" -v now="$build/run/readme." '
		$0 == end { on = 0 }
		!on
		$0 == begin {
			on = 1
			print "```"
			file = now (++number)
			while ((getline line <file) > 0)
				print line
			print "```"
		}' README.md >"$build/run/readme.md"
	cat "$build/run/readme.md" >README.md
fi
# the picture of the session
picture=docs/timeline.svg
"$build/gpuprof" timeline --svg tests/data/h200_gpt_expandable.gpr >"$build/run/readme.svg"
[ "${1:-}" != write ] || cp "$build/run/readme.svg" "$picture"

{
	cmp -s "$picture" "$build/run/readme.svg" ||
		echo "$picture:1: expected: as make readme-session draws it"
	session 1 | grep -v peak | grep -q "[░▒▓█]" || echo "README.md:1: no plot, expected: one"
	for ((k = 1; k <= sessions; k++)); do
		line=$(grep -n "^$begin\$" README.md | sed -n "${k}s/:.*//p")
		lines=$(wc -l <"$build/run/readme.$k")
		[ "$lines" -le "$most" ] ||
			echo "README.md:$line: a session of $lines lines, expected: at most $most"
		diff <(session $k | masked) <(masked <"$build/run/readme.$k") | grep '^[<>]' |
			sed "s/^</README.md:$line: shown:   /; s/^>/README.md:$line: expected:/" ||
			true
	done
} | { ! grep .; }
