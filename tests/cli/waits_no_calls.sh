cd $DATA
gpuprof waits h200_gpt_oom.gpr
gpuprof waits h200_gpt_oom.gpr h200_idle.gpr
gpuprof waits --json h200_gpt_oom.gpr | sed -n '/has_calls/,/waits/p'
gpuprof waits
gpuprof waits --top many h200_idle.gpr
gpuprof waits missing.gpr
# a repair adds LOST records of a thread that does not exist
python3 -c '
import sys

b = bytearray(sys.stdin.buffer.read())
b[40000] ^= 4
sys.stdout.buffer.write(b)
' <h200_gpt_eager.gpr >$HERE/flip.gpr
cd $HERE
gpuprof verify --repair clean.gpr flip.gpr >verified 2>&1
gpuprof waits clean.gpr
