#!/bin/sh
# Runs each unit test program. A test inside one that skips itself is a result of its own.
#   run_units.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
work=$build/run/units
mkdir -p "$work"
results=${RESULTS:-$work/results}
failed=0

# skips FILE: "NAME reason" of each test that cmocka lists as skipped; its last line of output is
# the reason
skips() {
	awk '/^skipped: / { reason = substr($0, 10) }
		/^\[ *RUN *\]/ { reason = "no reason given" }
		/^\[ *SKIPPED *\] [A-Za-z_]/ && !seen[$NF]++ { print $NF, reason }' "$1"
}

for test in $(cd "$here/unit" && ls test_*.c | sed "s/\.c$//"); do
	(cd "$work" && TMPDIR=$work TEST_DATA=$here/data \
		timeout -k 5 900 "$build/unit/$test" >"$test.out" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		echo "pass unit/$test" >>"$results"
		skips "$work/$test.out" | while read -r name reason; do
			echo "skip unit/$test/$name $reason" >>"$results"
		done
	else
		echo "fail unit/$test exit $status (see $work/$test.out)" >>"$results"
		echo "fail $test: exit $status"
		grep -E 'FAILED|ERROR|error|!=' "$work/$test.out" | head -n 8
		failed=1
	fi
done
exit $failed
