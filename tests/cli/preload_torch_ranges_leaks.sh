export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
for r in "" --capture-range=step:3-4 "--capture-range=step:3-40 --capture-range-end=stop"; do
	gpuprof run -q --no-symbolize $r -o x.gpr -- $BUILD/victims/own_ranges 60 >/dev/null
	gpuprof leaks --exit-code x.gpr 2>err >out
	echo $?
	grep -o "No verdict\|No leak found" out
	cat err
	rm x.gpr
done
