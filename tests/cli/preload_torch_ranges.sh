run() {
	rm -f c.gpr
	gpuprof run -q --no-symbolize -o c.gpr -- $BUILD/victims/own_ranges "$@"
	gpuprof dump --kind fact c.gpr | sed -n 's/.*fact key=28/fact 28/p'
	gpuprof dump --kind range_push,range_pop c.gpr |
		sed -n 's/ depth=[0-9]*//; s/.*\(range_[a-z]* .*\)/\1/p' |
		sed 's/ id=[0-9]*//' |
		sort |
		uniq -c
}
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
run 6
run 3 threads | grep -v "worker\|pop source=2"
GPUPROF_TORCH_RANGES=off run 2
LD_LIBRARY_PATH=$BUILD/fake/torch-9.0/lib:$BUILD/fake run 2
LD_LIBRARY_PATH=$BUILD/fake run 2
gpuprof info c.gpr | head -1 | sed 's/.*events, //'
