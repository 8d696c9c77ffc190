#!/bin/bash
# The reading library for other programs, and the Python module over it: exported names and sizes
# stay as packaging/reading_abi.txt has them, figures equal those of the commands, failures are
# exceptions, and the examples of docs/EXPORTS.md run.
#   run_reading.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$build/run/reading
results=${RESULTS:-$dir/results}
failed=0
rm -rf "$dir"
mkdir -p "$dir"
cd "$here" || exit 2

# `say STATUS NAME [WHY]`
say() {
	status=pass
	[ "$1" = 0 ] || status=fail failed=1
	[ "$1" = 0 ] || echo "fail reading/$2: ${*:3}"
	echo "$status reading/$2 ${*:3}" | head -n 1 >>"$results"
}
skip() { echo "skip reading/$1 $2" >>"$results"; }
export LD_LIBRARY_PATH=$build PYTHONPATH=$here/python PYTHONDONTWRITEBYTECODE=1

if grep -q __asan_init "$build/libgpuprof-read.so.0"; then
	skip all "the library holds a sanitizer"
	exit 0
fi
if ! python3 -c 'import ctypes' 2>/dev/null; then
	skip all "no Python with ctypes"
	exit 0
fi

headers=$(cd libgpuprof && ls gpuprof*.h)
# shellcheck disable=SC2086
python3 tests/reading/list_abi.py "$build" $headers >"$dir/abi.txt" 2>"$dir/abi.err"
say $? exported_as_declared "$(head -n 3 "$dir/abi.err")"
diff packaging/reading_abi.txt "$dir/abi.txt" >"$dir/abi.diff"
say $? abi "$(head -n 3 "$dir/abi.diff") (if it is on purpose: GP_API_MINOR, make abi)"

python3 tests/reading/check_layout.py python/gpuprof >"$dir/layout.c" &&
	${CC:-cc} -std=c17 -Wall -Wextra -Werror -Ilibgpuprof -fsyntax-only "$dir/layout.c" \
		>"$dir/layout.err" 2>&1
say $? layout "$(grep -m 1 error "$dir/layout.err")"

python3 tests/reading/compare_commands.py "$build/gpuprof" tests/data/*.gpr \
	tests/data/ranks/rank-0.gpr >"$dir/compare.out" 2>&1
say $? figures_of_commands "$(head -n 3 "$dir/compare.out")"

python3 tests/reading/check_failures.py tests/data/h200_gpt_stacks.gpr "$dir" \
	>"$dir/failures.out" 2>&1
say $? failures "$(tail -n 3 "$dir/failures.out")"

python3 tests/reading/check_rows.py tests/data/h200_gpt_stacks.gpr >"$dir/tables.out" 2>&1
say $? tables "$(tail -n 3 "$dir/tables.out")"
timeout 60 python3 tests/reading/check_running.py "$build" "$dir" >"$dir/running.out" 2>&1
say $? running "$(tail -n 3 "$dir/running.out")"
numpy=
for python in python3 /usr/bin/python3; do
	"$python" -c 'import numpy' 2>/dev/null && numpy=$python
done
if [ -n "$numpy" ]; then
	"$numpy" tests/reading/check_rows.py tests/data/h200_gpt_stacks.gpr numpy \
		>"$dir/numpy.out" 2>&1
	say $? numpy "$(tail -n 3 "$dir/numpy.out")"
else
	skip numpy "no numpy"
fi

# the examples in docs/EXPORTS.md, in their order; each prints what stands behind it
cp tests/data/h200_gpt_stacks.gpr "$dir/job.gpr"
awk -v dir="$dir" '
	/^```(python|c)$/ { file = dir "/example-" ++n (/python/ ? ".py" : ".c"); next }
	/^```$/ { file = ""; next }
	file { print >file }' docs/EXPORTS.md
cd "$dir" || exit 2
ran=0
for example in example-*; do
	program=(python3 "$example")
	case $example in *.c)
		program=(./example)
		${CC:-cc} -std=c17 -Wall -Wextra -Werror -I"$here/libgpuprof" -o example \
			"$example" "$build/libgpuprof-read.so.0" >"$example.out" 2>&1
		;;
	esac
	sed -n -e 's/^# prints: //p' -e 's/^\/\* prints: \(.*\) \*\/$/\1/p' "$example" \
		>"$example.expected"
	"${program[@]}" >>"$example.out" 2>&1
	cmp -s "$example.expected" "$example.out" && [ -s "$example.out" ]
	say $? "$example" "$(diff "$example.expected" "$example.out" | head -n 4)"
	ran=$((ran + 1))
done
[ "$ran" = 5 ]
say $? examples "docs/EXPORTS.md has $ran examples, expected: 5"
exit $failed
