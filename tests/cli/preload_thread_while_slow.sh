export GPUPROF_RING_DIR=$PWD LD_LIBRARY_PATH=$BUILD/fake SLOW_WHILE=$PWD/slow SLOW_MS=120
LD_PRELOAD=$BUILD/fake/slow_disk.so:$PRELOAD GPUPROF_OUTPUT=a.gpr python3 $CLI/thread_while_slow.py
gpuprof info --json a.gpr | python3 -c '
import json, sys

f = json.load(sys.stdin)
print(f["complete"], f["events"]["alloc"], f["lost"])
'
