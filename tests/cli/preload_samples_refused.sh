export LD_LIBRARY_PATH=$BUILD/fake
active=sm__cycles_active.avg.pct_of_peak_sustained_elapsed
# refused VARIABLE=VALUE... -- NAMES: the job runs, and the recording has the reason
refused() {
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	rm -f r.gpr
	env $settings gpuprof run -q -o r.gpr --metrics "$2" -- \
		python3 -B $CLI/sample_job.py 1 0.05 2>&1 |
		sed 's/^gpuprof: counters are not recorded: //'
	gpuprof counters r.gpr | grep -c "no counters were recorded: "
}
refused FAKE_PROFILER_REFUSED=35 -- utilization
refused FAKE_PROFILER_REFUSED=43 -- utilization
refused FAKE_PROFILER_SUPPORT=1 -- utilization
refused FAKE_PM_ENABLED=1 -- utilization
for call in Enable SetConfig GetCounterDataSize CounterDataImageInitialize Start; do
	refused FAKE_PROFILER_FAILS=cuptiPmSampling$call -- utilization
done
refused LD_LIBRARY_PATH=$BUILD/fake/cupti_part:$BUILD/fake -- utilization
refused -- $active,no_such_metric.sum
refused -- lts__throughput.avg.pct,$active,lts__bytes.sum,dram__bytes.sum
refused -- lts__throughput.avg.pct
# sampled VARIABLE=VALUE... -- OPTION...: the fact, and whether samples are missing
sampled() {
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	rm -f s*.gpr
	env $settings gpuprof run -q -o s-%p.gpr --metrics $active "$@" 2>&1
	for file in s-*.gpr; do
		gpuprof counters --json $file | python3 -c 'import json, sys
r = json.load(sys.stdin)
gpus = [(g["device"], len(g["samples"]) > 1, g["lost"] > 0, round(g["took_ns"] / 1e6))
        for g in r["gpus"]]
print(r["why"].replace("CUPTI 130001; ", ""), gpus)'
	done | sort
}
# CUPTI of CUDA 12.6, and a GPU that counts cycles
sampled FAKE_PM_OLD=1 -- -- python3 -B $CLI/sample_job.py 1 0.3
sampled FAKE_PM_OLD=1 FAKE_PM_NO_TIME=1 -- -- python3 -B $CLI/sample_job.py 1 0.3
# a hardware buffer for 20 ms is full before each reading; sampling goes on
sampled FAKE_PM_ROOM=20 -- --interval 1ms -- python3 -B $CLI/sample_job.py 1 0.4
# reading fails in the middle: the recording has what came before, and why
sampled FAKE_PROFILER_FAILS=cuptiPmSamplingDecodeData -- -- python3 -B $CLI/sample_job.py 1 0.3
sampled FAKE_PROFILER_FAILS=cuptiPmSamplingStop -- -- python3 -B $CLI/sample_job.py 1 0.3
# a child of a process that samples, and a process that ends without handlers
sampled -- -- python3 -B $CLI/sample_job.py 1 0.3 fork
sampled -- -- python3 -B $CLI/sample_job.py 1 0.3 leave
# two GPUs, and CUPTI is finalized in the middle
sampled -- -- python3 -B $CLI/sample_job.py 1 0.3 both
sampled -- -- python3 -B $CLI/sample_job.py 1 0.3 finalize
# samples of a long capture are read after it
sampled -- -- python3 -B $CLI/sample_job.py 1 0.3 capture
# processes whose main thread ends first: our thread and the last one do not wait for each other
timeout -k 5 60 gpuprof run -q --metrics utilization -o v-%p.gpr -- \
	$BUILD/victims/ends_without_main >v.out 2>&1 && echo ended
# options
gpuprof run --metrics utilization --kernel . -- true
gpuprof run --metrics utilization,$active -- true
gpuprof run --interval 5ms -- true
gpuprof run --metrics roofline --kernel . --interval 5ms -- true
for interval in 0.1ms 2 5m; do
	gpuprof run --metrics utilization --interval $interval -- true
done
gpuprof run -q -o i.gpr -- env GPUPROF_METRICS=utilization GPUPROF_INTERVAL=5m true
