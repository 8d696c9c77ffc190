export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
for how in "--allocator-details=off" "--allocator-details=on" \
	"--allocator-details=on --launches=off"; do
	gpuprof run -q --no-symbolize $how -o a.gpr -- $BUILD/victims/other_streams
	echo $? $how: $(gpuprof dump a.gpr | sed -n "s/.*fact key=16//p"), \
		$(gpuprof dump a.gpr | grep -c "arena\|segment\|code=\|completed") of details
	rm a.gpr
done
GPUPROF_ALLOCATOR_DETAILS=maybe LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=b.gpr \
	$BUILD/victims/other_streams
