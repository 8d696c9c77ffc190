python3 -c '
import sys

b = bytearray(open(sys.argv[1], "rb").read())
b[40000] ^= 4
open("flip.gpr", "wb").write(b)
' $DATA/h200_gpt_eager.gpr
gpuprof verify --repair clean.gpr flip.gpr >/dev/null 2>&1
gpuprof info --steps clean.gpr | grep "^steps"
