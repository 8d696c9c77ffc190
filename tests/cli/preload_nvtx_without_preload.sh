cat >ask.py <<'END'
import ctypes, os

table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
asked = []
ours = ctypes.CDLL(os.environ["OBJECT"])
status = ours.InitializeInjectionNvtx2(table(lambda number: asked.append(number)))
print(status, asked, ours.InitializeInjectionNvtxExtension(None))
END
export OBJECT=$PRELOAD
python3 ask.py
LD_PRELOAD=$PRELOAD python3 ask.py
LD_PRELOAD=$PRELOAD GPUPROF_NVTX=off python3 ask.py
rm ask.py
ls
