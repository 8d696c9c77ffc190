export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
for r in step:3-4 step:1-2 "nvtx:Optimizer.step#AdamW.step" step:5-9; do
	gpuprof run -q --no-symbolize --capture-range=$r -o c.gpr -- $BUILD/victims/own_ranges 6
	gpuprof dump --kind launch,scope,range_push c.gpr |
		sed -n '
			s/.*range_push id=\([0-9]*\).*"\(.*\)".*/\2/p
			s/.*\(launch\) .*/\1/p
			s/.*scope .*by=\([0-9]\).*/scope \1/p' |
		grep -E "launch|scope|Optim" |
		tr '\n' ' '
	gpuprof info c.gpr | sed -n '1s/.*captured: .* in/ captured in/p'
	rm c.gpr
done
