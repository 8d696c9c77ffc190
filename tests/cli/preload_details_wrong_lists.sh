export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
for which in odd huge short flags sums right; do
	FAKE_TORCH_SNAPSHOT=$which gpuprof run -q --no-symbolize -o $which.gpr \
		-- $BUILD/victims/training_loop 2 >/dev/null
	echo $? $which: $(gpuprof info $which.gpr | sed -n "
		s/^allocator *//p
		s/^self-check.*: //p"), $(gpuprof dump $which.gpr | grep -c "found=1") segments
done
