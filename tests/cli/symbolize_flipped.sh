cp $DATA/h200_gpt_stacks.gpr a.gpr
chmod u+w a.gpr
flip() {
	python3 -c '
import sys

d = bytearray(open(sys.argv[1], "rb").read())
d[int(sys.argv[2])] ^= 1
open(sys.argv[1], "wb").write(d)
' $1 $2
}
flip a.gpr 30000
cp a.gpr before
gpuprof symbolize a.gpr
gpuprof symbolize --json a.gpr 2>/dev/null | head -n 7
cmp a.gpr before
