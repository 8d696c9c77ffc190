mkdir -p torch/optim
touch torch/__init__.py torch/optim/__init__.py
printf 'def wrapper(step):\n    step()\n' >torch/optim/optimizer.py
cat >a.py <<'END'
import ctypes
from torch.optim.optimizer import wrapper
cuda = ctypes.CDLL("libcuda.so.1")
p = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
def ask():
    cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(5 << 30))
def train():
    ask(); wrapper(ask)
train()
END
sed 's/wrapper(ask)/ask()/' a.py >b.py
export LD_LIBRARY_PATH=$BUILD/fake
for j in a b; do
	gpuprof run -q --stacks=all -o $j.gpr -- python3 -B $j.py
	gpuprof oom $j.gpr | grep "^by\|^try\|^no"
done
