cp -r $DATA/../stacks a
cp -r a b
sed -i "1a # a comment" b/hold.py
cp -r a c
sed -i "s/range(6)/range(7)/" c/hold.py
export LD_LIBRARY_PATH=$BUILD/fake
for d in a b c; do
	LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$d.gpr GPUPROF_STACKS=all python3 -B $d/hold.py $d.json 3
done
LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=again.gpr GPUPROF_STACKS=all \
	python3 -B $DATA/../stacks/hold.py again.json 4
cut() {
	grep -E "line numbers|no difference|[BK] +[-+0-9]|^ +[-+][0-9]|%" | mask classes
}
for o in a.gpr,again.gpr a.gpr,b.gpr --ignore-lines,a.gpr,b.gpr a.gpr,c.gpr; do
	gpuprof diff --of allocated $(echo $o | tr , " ") >out
	echo "$o $?"
	cut <out
done
