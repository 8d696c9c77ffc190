#!/bin/sh
# Records hold.py and compares the reports of `peak` and `top` with its own counts.
#   hold.sh BUILD STACKS [STEPS]
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$1/fake"
LD_PRELOAD="$1/libgpuprof.so" GPUPROF_OUTPUT=hold.gpr GPUPROF_STACKS="$2" \
	python3 -B "$here/hold.py" said.json "${3:-3}" || exit 1
"$1/gpuprof" peak --json --by line hold.gpr >peak.json || exit 1
"$1/gpuprof" top --json --by line hold.gpr >top.json || exit 1
python3 -B "$here/judge_hold.py" said.json peak.json top.json
