export LD_LIBRARY_PATH=$BUILD/fake
mkfifo go
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=r.gpr GPUPROF_STACKS=native python3 -c '
import ctypes

c = ctypes.CDLL("libcuda.so.1")
p = ctypes.c_void_p()
c.cuInit(0)
c.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
c.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096))
open("go").read()
open("go").read()
' &
echo >go
gpuprof symbolize r.gpr 2>&1
echo $?
kill -9 $!
exec 2>/dev/null
wait
gpuprof symbolize r.gpr 2>&1 | mask numbers sizes | grep named
gpuprof verify r.gpr | grep -o "nothing damaged; complete"
