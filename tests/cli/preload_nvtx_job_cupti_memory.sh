# CUPTI's own memory has an owner, from its first window on; the fake driver's contexts have none
export LD_LIBRARY_PATH=$BUILD/fake
for window in always step:30-40@step; do
	gpuprof run -q --gpu-time=$window -o r.gpr -- $BUILD/victims/training_ranges 20 >/dev/null
	gpuprof frag r.gpr | grep -o "708 MiB PyTorch.*"
	rm r.gpr
done
