# the command after the end of a watch: without and with stacks, an OOM of PyTorch, of the driver
for name in fake-training h200_calls h200_gpt_oom; do
	gpuprof watch "$DATA/$name.gpr" | tail -n 1
done
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q -o oom.gpr -- "$BUILD/victims/driver_oom" >output 2>&1
gpuprof watch oom.gpr | tail -n 1
gpuprof info oom.gpr | tail -n 1
