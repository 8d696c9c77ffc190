export GPUPROF_ALLOCATOR_DETAILS=on
try() {
	LD_LIBRARY_PATH=$BUILD/fake/$1/lib:$BUILD/fake FAKE_TORCH_ALLOCATOR=$2 \
		gpuprof run -q --no-symbolize -o $1-$2.gpr -- $BUILD/victims/other_streams
	echo $? $1 $2: $(gpuprof dump $1-$2.gpr | sed -n "s/.*fact key=16//p"), \
		$(gpuprof dump $1-$2.gpr | grep -c "arena\|segment\|code=\|completed") of details, \
		$(gpuprof dump $1-$2.gpr | grep -c "block_") blocks
}
try torch-2.11 native
try torch-2.6 native
try torch-2.9 native
try torch-2.10 native
try torch-9.0 native
try torch-part native
for which in async heap foreign_slots loose_table; do try torch-2.11 $which; done
mkdir torch-3
cp -rL $BUILD/fake/torch-2.11/lib torch-3
LD_LIBRARY_PATH=$PWD/torch-3/lib:$BUILD/fake gpuprof run -q --no-symbolize -o unknown.gpr \
	-- $BUILD/victims/other_streams
gpuprof dump unknown.gpr | sed -n "s/.*fact key=16//p"
