pick() { python3 -B $CLI/json_pick.py "$1"; }
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o x.gpr -- $BUILD/victims/grow_device
gpuprof info x.gpr | grep "^number line"
gpuprof peak x.gpr | grep free
gpuprof timeline x.gpr | grep free
gpuprof frag --at end x.gpr | grep free
gpuprof info --json x.gpr | pick "{
	k: v for k, v in o['number_line'].items() if k not in ('at_ns', 'owners')}"
gpuprof info --json x.gpr | pick "o['number_line']['owners']"
gpuprof frag --at end --json x.gpr | pick "o['devices'][0]['owners']"
gpuprof dump --kind device_memory x.gpr | sed -n "s/.*state=/state=/p" | head -n 3
# a kernel is a CUkernel, which the first of two questions for its local memory refuses
FAKE_CUDA_FAIL=cuFuncGetAttribute:0 gpuprof run -q -o k.gpr -- $BUILD/victims/grow_device
gpuprof info --json k.gpr | pick "o['number_line']['owners']['local memory']"
# one count is refused: the next one has its cause, too, and two causes have no owner
FAKE_CUDA_FAIL=cuMemGetInfo_v2:4 gpuprof run -q -o r.gpr -- $BUILD/victims/grow_device
gpuprof info --json r.gpr | pick "o['number_line']['unattributed_bytes']"
# the driver refuses to count: no line, and the job is as before
FAKE_CUDA_FAIL=cuMemGetInfo_v2:0 gpuprof run -q -o y.gpr -- $BUILD/victims/grow_device
gpuprof info y.gpr | grep -c "^number line"
gpuprof frag y.gpr | grep contexts
gpuprof info --json y.gpr | pick "o['number_line']"
