#!/usr/bin/env bash
# Thresholds of steps, leaks and growth: at most 40 numeric #defines, and no decimal except 0.5 in
# code. docs/ANALYSIS.md has each threshold with its reason. Capacities are exempt; their comment
# begins with that word. --list prints the thresholds.
set -euo pipefail
cd "$(dirname "$0")/.."
most=40
files=$(git ls-files 'libgpuprof/analyze/steps/*.[ch]' 'libgpuprof/analyze/leaks/*.[ch]' \
	libgpuprof/gpuprof_leaks.h)

# file:line:define, only of numbers; joins a comment or value that continues on the next line
defines=$(awk '
	FNR == 1 { before = "" }
	/\\$/ { if (held == "") at = FNR; held = held substr($0, 1, length($0) - 1); next }
	{ line = held $0; where = held == "" ? FNR : at; held = "" }
	line ~ /^#define [A-Z_]+(\([a-z]+\))?[ \t]+\(*[a-z(]*[0-9]/ ||
		line ~ /^#define [A-Z_]+\([a-z]+\)[ \t].*\/ [0-9]/ {
		print FILENAME ":" where ":" (before ~ /capacity/ ? "/* capacity */ " : "") line
	}
	{ before = line ~ /^(\/\*| \*)/ ? before line : "" }' $files |
	grep -v '(1u << (space))')
if [ "${1:-}" = --list ]; then
	printf '%s\n' "$defines"
	exit
fi

found=0
count=$(grep -c . <<<"$defines")
if [ "$count" -gt $most ]; then
	echo "libgpuprof/analyze:1: $count thresholds in steps and leaks, expected: at most $most"
	found=1
fi
while IFS=: read -r file line define; do
	name=$(sed -E 's/.*#define ([A-Z_]+).*/\1/' <<<"$define")
	case $define in *capacity*) continue ;; esac
	grep -q "^| \`$name\` |" docs/ANALYSIS.md && continue
	echo "$file:$line: $name, expected: a row with its reason in docs/ANALYSIS.md"
	found=1
done <<<"$defines"
inline=$(grep -nE '[^0-9_a-zA-Z.]0\.[0-9]+' $files |
	grep -vE '#define|:[0-9]+:\s*(/\*| \*)|[^0-9]0\.5[^0-9]' | sed -E 's#/\*.*##' |
	grep -E '[^0-9_a-zA-Z.]0\.[0-9]+' || true)
if [ -n "$inline" ]; then
	sed 's/$/  <- expected: a #define with its reason/' <<<"$inline"
	found=1
fi
exit $found
