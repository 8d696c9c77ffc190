export LD_LIBRARY_PATH=$BUILD/fake FAKE_PROFILER_PASSES=1
counted() {
	gpuprof counters --json $1 | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(r["why"], sorted({(k["symbol"], k["count"]) for k in r["kernels"]}), len(r["kernels"]))'
}
# kernels that wait for other processes are not measured, nor cooperative launches
gpuprof run -q --metrics dram__bytes.sum --kernel . -o w.gpr -- \
	python3 -B $CLI/counter_job.py 5 waiting
counted w.gpr
# more launch shapes than room: the first are measured to the end
gpuprof run -q --metrics dram__bytes.sum --kernel . -o s.gpr -- \
	python3 -B $CLI/counter_job.py 3 shapes
counted s.gpr
# a process that ends while CUPTI is opened, and one in the middle of a measurement
FAKE_PROFILER_SLOW=1 gpuprof run -q --metrics dram__bytes.sum --kernel . -o o.gpr -- \
	python3 -B $CLI/counter_job.py 0 2>o.err
echo $?
grep "fake range profiler" o.err
FAKE_PROFILER_PASSES=3 gpuprof run -q --metrics dram__bytes.sum --kernel copy -o e.gpr -- \
	python3 -B $CLI/counter_job.py 3
echo $?
# CUPTI is finalized in the middle of a measurement, by a job that is linked with it
FAKE_PROFILER_PASSES=3 gpuprof run -q --metrics dram__bytes.sum --kernel copy -o z.gpr -- \
	python3 -B $CLI/counter_job.py 3 finalize
counted z.gpr
# the job brings a second CUPTI, and calls it
FAKE_PROFILER_PASSES=3 gpuprof run -q --metrics dram__bytes.sum --kernel copy -o t.gpr -- \
	python3 -B $CLI/counter_job.py 3 second
counted t.gpr
# both settings in the environment: counters win
gpuprof run -q --metrics dram__bytes.sum --kernel copy -o g.gpr -- \
	env GPUPROF_GPU_TIME=always python3 -B $CLI/counter_job.py 3
counted g.gpr
gpuprof kernels g.gpr | grep -c "run --gpu-time"
# a stream that stays busy: no launch is measured, and the job goes on
FAKE_CUDA_READY_NS=600000000000 timeout -k 5 60 gpuprof run -q -o b.gpr \
	--metrics dram__bytes.sum --kernel copy -- python3 -B $CLI/counter_job.py 30 busy
counted b.gpr
