export LD_LIBRARY_PATH=$BUILD/fake
j=$BUILD/victims/leak_two
run() {
	gpuprof run -q "$@"
	echo "status $?"
}
run -o x.gpr -- $j
cp x.gpr old
run -o x.gpr -- $j
cmp x.gpr old && echo kept
run --force -o x.gpr -- $j
cmp -s x.gpr old || echo replaced
GPUPROF_OUTPUT=x.gpr run -- $j
GPUPROF=off run -o x.gpr -- $j
mkdir d
run --force -o d -- $j
run -o x-%p.gpr -- $j
ls x* | wc -l
