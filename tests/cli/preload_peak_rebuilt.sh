export LD_LIBRARY_PATH=$BUILD/fake
cp $BUILD/victims/leak_two job
gpuprof run -q --no-symbolize --stacks native -o a.gpr -- ./job >/dev/null
told() {
	for report in peak "peak --tree" top; do
		gpuprof $report a.gpr | grep "without a name"
	done
}
told
cp $BUILD/victims/drop_one job
told
rm job
told
