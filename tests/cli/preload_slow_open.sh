export GPUPROF_RING_DIR=$PWD LD_LIBRARY_PATH=$BUILD/fake SLOW_WHILE=$PWD/slow SLOW_MS=500
touch slow
LD_PRELOAD=$BUILD/fake/slow_disk.so:$PRELOAD GPUPROF_OUTPUT=short.gpr $BUILD/victims/leak_two 2>&1 |
	cut -d"'" -f1
LD_PRELOAD=$BUILD/fake/slow_disk.so:$PRELOAD GPUPROF_OUTPUT=left.gpr python3 $CLI/leave_at_once.py
rm slow
for r in short left; do
	gpuprof info --json $r.gpr | python3 -c '
import json, sys

f = json.load(sys.stdin)
print(f["complete"], f["events"]["lost"], f["lost"]["memory"])
'
done
