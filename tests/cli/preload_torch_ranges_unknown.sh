for v in torch-9.0/lib torch-2.11/lib; do
	rm -f c.gpr
	LD_LIBRARY_PATH=$BUILD/fake/$v:$BUILD/fake gpuprof run -q --no-symbolize -o c.gpr \
		-- $BUILD/victims/own_ranges 6
	gpuprof phases c.gpr | grep "no ranges of PyTorch"
	gpuprof info c.gpr | grep ^ranges
	gpuprof info --json c.gpr | grep '"torch"'
	gpuprof phases --json c.gpr | grep -E '"(forwards_derived|torch)":'
done
