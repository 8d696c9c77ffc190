# loops of cuEventQuery and cuStreamQuery; a query that is answered at once is not a wait
export LD_LIBRARY_PATH=$BUILD/fake FAKE_CUDA_READY_NS=3000000
cat >job.py <<'END'
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
event, stream, context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
assert cuda.cuEventCreate(ctypes.byref(event), 0) == 0


def until_ready(query, handle):
    cuda.cuEventRecord(event, stream)
    while query(handle) == 600:
        pass


def ready(query, handle):
    assert query(handle) == 0


for step in range(4):
    until_ready(cuda.cuEventQuery, event)
    ready(cuda.cuEventQuery, event)
    until_ready(cuda.cuStreamQuery, stream)
    ready(cuda.cuStreamQuery, stream)
END
gpuprof run -q --stacks python -o r.gpr -- python3 -B job.py
# a busy machine may split a loop
gpuprof waits --json r.gpr | python3 -c 'import json, sys
for row in json.load(sys.stdin)["waits"]:
    print(row["kind"], row["reason"], row["queried"], row["count"] > 0, row["blocked_ns"] >= 50000,
          *(frame["function"] for frame in row["stack"]))' | sort
gpuprof waits r.gpr | grep -oE "cu(Event|Stream)Query.*" | sort | mask blanks
gpuprof dump --kind wait r.gpr | grep -oE "(event|stream)_query" | sort -u
