export LD_LIBRARY_PATH=$BUILD/fake
for t in /nonexistent relative "$PWD" "/tmp/$(printf "%0600d" 0)"; do
	TMPDIR=$t gpuprof run --force -o k.gpr -- $BUILD/victims/leak_two 2>&1 |
		grep -o "recorded 296 events in 'k.*gpr'"
done
ls -A
