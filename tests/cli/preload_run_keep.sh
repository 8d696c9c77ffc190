export LD_LIBRARY_PATH=$BUILD/fake
old() { touch -d "$1 hour ago" "$2"; }
for n in precious 77 4x; do
	cp $DATA/h200_mlp.gpr $n.gpr
	old 9 $n.gpr
done
echo text >88.gpr
old 9 88.gpr
gpuprof run -q -o 99.gpr $BUILD/victims/leak_two 7
gpuprof run -q -o x1.gpr $BUILD/victims/leak_two
gpuprof run -q -o 1.gpr $BUILD/victims/leak_two
gpuprof run -q -o 2.gpr $BUILD/victims/leak_two
GPUPROF_OUTPUT=2.gpr LD_PRELOAD=$PRELOAD $BUILD/victims/leak_two 2>/dev/null
for n in 99 x1 1; do old 3 $n.gpr; done
old 2 2.gpr
old 1 2.2.gpr
ls | tr "\n" " "
gpuprof run --keep 2 -o %p.gpr -- $BUILD/victims/leak_two 2>&1 | grep -E "removed|allocated"
ls | grep -vE "^[0-9]{3,}.gpr" | tr "\n" " "
ls | grep -cE "^[0-9]{3,}.gpr"
