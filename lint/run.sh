#!/usr/bin/env bash
# Runs each check of the list, prints its findings (file:line: what, expected: what), and last the
# totals. A check exits with 0, with 1 after one line for each finding, or with 77 after printing
# why it was skipped. The file RESULTS gets the results, as those of the suites of `make check`.
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0 findings=0 skips=
checks="includes tree circles statics object hot_path manual prose scripts formatting"
checks+=" thresholds readme_session"
for check in $checks; do
	status=0
	printed=$(lint/$check.sh 2>&1) || status=$?
	case $status in
	0)
		passed=$((passed + 1))
		echo "pass lint/$check" >>"${RESULTS:-/dev/null}"
		;;
	77)
		echo "skip lint/$check ${printed#skipped: }" >>"${RESULTS:-/dev/null}"
		skips+="lint: skipped $check: ${printed#skipped: }"$'\n'
		;;
	*)
		[ -n "$printed" ] ||
			printed="lint/$check.sh:1: ended with $status, expected: 0, 77 or findings"
		failed=$((failed + 1))
		echo "fail lint/$check" >>"${RESULTS:-/dev/null}"
		findings=$((findings + $(grep -c . <<<"$printed")))
		printf 'lint: %s\n%s\n' "$check" "$printed"
		;;
	esac
done
printf '%s' "$skips"
skipped=$(grep -c . <<<"$skips" || true)
echo "lint: $passed checks passed, $failed failed, $skipped skipped, $findings findings"
[ "$failed" = 0 ]
