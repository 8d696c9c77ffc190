export LD_LIBRARY_PATH=$BUILD/fake
for v in idle_buffers replayed_uses; do
	gpuprof run -q --track-access --stacks=native -o $v.gpr -- $BUILD/victims/$v
done
gpuprof run -q --track-access -o none.gpr -- $BUILD/victims/idle_buffers 40
python3 -B $CLI/idle_adds_up.py idle_buffers.gpr replayed_uses.gpr none.gpr
