python3 -c '
import os, sys

b = bytearray(open(sys.argv[1], "rb").read())
b[33762] ^= 1
open("flip.gpr", "wb").write(b)
' $DATA/fake-training.gpr
gpuprof verify flip.gpr
gpuprof timeline --csv flip.gpr >/dev/null
gpuprof dump --json flip.gpr >/dev/null
