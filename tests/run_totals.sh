#!/bin/sh
# Sums up a file of results ("pass NAME", "fail NAME why", "skip NAME why"). Also fails for a skip
# that tests/skips does not list, and for a suite without a result: names of results begin with the
# suite.
#   run_totals.sh RESULTS SUITE...
here=$(cd "$(dirname "$0")" && pwd)
results=$1
[ -f "$results" ] || { echo "no results: $results"; exit 1; }
shift
count() { grep -c "^$1 " "$results"; }
for suite in "$@"; do
	grep -qE "^(pass|fail|skip) $suite(/|\$| )" "$results" ||
		echo "fail $suite it left no result: did it run?" >>"$results"
done
grep '^fail ' "$results"
grep '^skip ' "$results" | while read -r _ name reason; do
	if grep -v '^#' "$here/skips" | cut -d' ' -f1 | grep -qxF "$name"; then
		echo "skipped $name: $reason"
	else
		echo "skipped $name without leave (not in tests/skips): $reason"
	fi
done
unlisted=$(grep '^skip ' "$results" | cut -d' ' -f2 |
	grep -vxF "$(grep -v '^#' "$here/skips" | cut -d' ' -f1)" | grep -c .)
echo "$(count pass) passed, $(count fail) failed, $(count skip) skipped"
[ "$(count fail)" = 0 ] && [ "$unlisted" = 0 ] && [ "$(count pass)" != 0 ]
