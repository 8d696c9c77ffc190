#!/bin/sh
# Types, lint, tests and committed files of the page that `gpuprof report` writes. Needs the
# packages of page/node_modules, and Chromium.
#   run_page.sh BUILD
build=$(cd "$1" && pwd) || exit 2
page=$(cd "$(dirname "$0")/../page" && pwd)
dir=$build/run/page
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$page" || exit 2

# judge NAME COMMAND...: its output is shown if it fails
judge() {
	name=$1
	shift
	if "$@" >"$dir/$name.out" 2>&1; then
		echo "pass page/$name" >>"$results"
	else
		echo "fail page/$name (see $dir/$name.out)" >>"$results"
		echo "fail page/$name:"
		cat "$dir/$name.out"
		failed=1
	fi
}
fresh() {
	node tools/bundle.js "$dir/dist" || return
	for file in page.js page.css csp.txt; do
		cmp "dist/$file" "$dir/dist/$file" || return
	done
}

judge types node_modules/.bin/tsc -p .
judge eslint node_modules/.bin/eslint .
judge fresh fresh
# the report is for a reader of a failure, the TAP lines are for the totals
GPUPROF=$build/gpuprof SHOTS=$build/page-shots judge tests node --test --test-concurrency=2 \
	--test-reporter=spec --test-reporter-destination=stdout \
	--test-reporter=tap --test-reporter-destination="$dir/tap" ../tests/page/
sed -nE 's/^ok [0-9]+ - (.*) # SKIP ?(.*)/skip \1\t\2/p; t
	s/^ok [0-9]+ - /pass /p; s/^not ok [0-9]+ - /fail /p' "$dir/tap" |
	while IFS='	' read -r test reason; do
		echo "${test%% *} page/$(echo "${test#* }" | tr ' ' '_') $reason"
	done >>"$results"
grep '^# \(pass\|fail\|skipped\) ' "$dir/tap" | tr -d '#' | tr '\n' ',' | sed 's/,$/\n/'
exit $failed
