#!/usr/bin/env bash
# The terminal session in README.md is real: runs its commands ("$ ...") on the fake driver and
# compares what they print. `readme_session.sh write` puts the new output into README.md. Durations,
# moments, sizes of files and the curves over time vary from run to run: they are shown as they were
# and compared as blanks; peaks are compared.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${BUILD:-build}" && pwd)
most=12
begin='<!-- session -->' end='<!-- end of session -->'

session() { sed -n "/^$begin\$/,/^$end\$/p" README.md | sed '/^<!--/d; /^```/d'; }
masked() {
	sed -E 's/^ +0( +[0-9.]+ (ns|us|ms|s))+$/TIMES/
		s/[0-9][0-9.,]* (ns|us|ms|s|m|h)\b/T/g
		s/[0-9][0-9.,]* (B|KiB|MiB)( of file| on disk|, [0-9.]+ (B|bytes) an event)/FILE/g
		s/[0-9.]+ bytes an event/FILE/g; s/\([0-9.,]+ (B|KiB|MiB)\)/(FILE)/g
		s/[░▒▓█][░▒▓█ ]*/CURVES /g; s/[─┬]+/AXIS/g; s/ +/ /g; s/ $//'
}

commands=$(session | sed -n 's/^\$ //p')
if [ -z "$commands" ]; then
	echo "README.md:1: no session, expected: commands between $begin and $end"
	exit 1
fi
line=$(grep -n "^$begin\$" README.md | cut -d: -f1)

directory=$build/run/readme
rm -rf "$directory"
mkdir -p "$directory"
export PATH=$build:$build/victims:$PATH LD_LIBRARY_PATH=$build/fake GPUPROF_RING_DIR=$directory
export LC_ALL=C.UTF-8
while IFS= read -r command; do
	printf '$ %s\n' "$command"
	(cd "$directory" && timeout 60 bash -c "$command" 2>&1 </dev/null) || true
done <<<"$commands" >"$build/run/readme.now"

if [ "${1:-}" = write ]; then
	{
		sed "/^$begin\$/q" README.md
		printf '```\n'
		cat "$build/run/readme.now"
		printf '```\n'
		sed -n "/^$end\$/,\$p" README.md
	} >"$build/run/readme.md"
	cat "$build/run/readme.md" >README.md
fi
# its picture
picture=docs/timeline.svg
"$build/gpuprof" timeline --svg tests/data/h200_gpt_expandable.gpr >"$build/run/readme.svg"
[ "${1:-}" != write ] || cp "$build/run/readme.svg" "$picture"

{
	lines=$(wc -l <"$build/run/readme.now")
	cmp -s "$picture" "$build/run/readme.svg" ||
		echo "$picture:1: expected: as make readme-session draws it"
	[ "$lines" -le "$most" ] ||
		echo "README.md:$line: a session of $lines lines, expected: at most $most"
	session | grep -v peak | grep -q "[░▒▓█]" ||
		echo "README.md:$line: no plot, expected: one"
	diff <(session | masked) <(masked <"$build/run/readme.now") | grep '^[<>]' |
		sed "s/^</README.md:$line: shown:   /; s/^>/README.md:$line: expected:/" || true
} | { ! grep .; }
