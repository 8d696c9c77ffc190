#!/bin/sh
# Records a job and plots its memory: a PyTorch job on the GPU, else our own kernels there, else a
# training loop on the fake driver. `make demo` builds them first.
set -eu
: "${BUILD:=build}"
BUILD=$(cd "$BUILD" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
recording=$BUILD/demo.gpr
rm -f "$recording"

has_gpu() { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }
has_torch() {
	python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1
}

if has_gpu && has_torch; then
	set -- python3 "$here/../tests/gpu/gpt_train.py" --steps 20
elif has_gpu && [ -x "$BUILD/kernels/mlp_train" ]; then
	set -- "$BUILD/kernels/mlp_train" --steps 200
else
	why="no GPU here"
	! has_gpu || why="a GPU, but neither PyTorch with CUDA nor nvcc to build a job for it"
	echo "demo: $why: a training loop on the fake driver" >&2
	LD_LIBRARY_PATH=$BUILD/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	set -- "$BUILD/victims/training_loop" 40 5
fi
"$BUILD/gpuprof" run -o "$recording" -- "$@"
"$BUILD/gpuprof" timeline "$recording"
