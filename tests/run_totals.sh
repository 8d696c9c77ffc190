#!/bin/sh
# Sums up a file of results ("pass NAME", "fail NAME why", "skip NAME why"). A skip that tests/skips does not list
# fails.  run_totals.sh RESULTS
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$1" ] || { echo "no results: $1"; exit 1; }
count() { grep -c "^$1 " "$results"; }
results=$1
unlisted=0
grep '^fail ' "$results"
grep '^skip ' "$results" | while read -r _ name reason; do
	if grep -v '^#' "$here/skips" | cut -d' ' -f1 | grep -qxF "$name"; then
		echo "skipped $name: $reason"
	else
		echo "skipped $name without leave (not in tests/skips): $reason"
	fi
done
unlisted=$(grep '^skip ' "$results" | cut -d' ' -f2 | grep -vxF "$(grep -v '^#' "$here/skips" | cut -d' ' -f1)" | grep -c .)
echo "$(count pass) passed, $(count fail) failed, $(count skip) skipped"
[ "$(count fail)" = 0 ] && [ "$unlisted" = 0 ] && [ "$(count pass)" != 0 ]
