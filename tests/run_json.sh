#!/bin/sh
# Checks the keys that the commands print with --json against docs/JSON.md (tests/json_keys.py).
#   run_json.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/json
results=${RESULTS:-$dir/results}
mkdir -p "$dir"

python3 -c 'import json' 2>/dev/null || { echo "skip json/keys no python3" >>"$results"; exit 0; }
if python3 "$here/json_keys.py" "$build/gpuprof" "$here/data" "$here/../docs/JSON.md" \
	>"$dir/out" 2>&1
then
	echo "pass json/keys" >>"$results"
	exit 0
fi
echo "fail json/keys (see $dir/out)" >>"$results"
cat "$dir/out"
exit 1
