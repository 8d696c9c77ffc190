export LD_LIBRARY_PATH=$BUILD/fake
# refused VARIABLE=VALUE... -- OPTION...: the job runs, and the recording has the reason
refused() {
	rm -f r.gpr
	settings=
	while [ "$1" != -- ]; do
		settings="$settings $1"
		shift
	done
	shift
	env $settings gpuprof run -q -o r.gpr --kernel . "$@" -- \
		python3 -B $CLI/counter_job.py 20 2>&1 |
		sed 's/^gpuprof: counters are not recorded: //'
	gpuprof counters r.gpr | grep -c "no counters were recorded: "
}
refused FAKE_PROFILER_REFUSED=35 -- --metrics roofline --kernel .
refused FAKE_PROFILER_REFUSED=40 -- --metrics roofline --kernel .
refused FAKE_PROFILER_REFUSED=39 -- --metrics roofline --kernel .
refused FAKE_PROFILER_SUPPORT=1 -- --metrics roofline --kernel .
refused FAKE_PROFILER_FAILS=cuptiProfilerInitialize -- --metrics roofline --kernel .
refused FAKE_PROFILER_FAILS=cuptiRangeProfilerSetConfig -- --metrics roofline --kernel .
refused FAKE_PROFILER_FAILS=cuptiRangeProfilerStart -- --metrics roofline --kernel .
refused FAKE_PROFILER_FAILS=cuptiRangeProfilerStop -- --metrics roofline --kernel .
refused FAKE_PROFILER_FAILS=cuptiProfilerHostEvaluateToGpuValues -- --metrics roofline --kernel .
refused FAKE_PROFILER_PASSES=3 -- --metrics dram__bytes.sum,no_such_metric.sum --kernel .
refused LD_LIBRARY_PATH=$BUILD/fake/cupti_part:$BUILD/fake -- --metrics roofline --kernel .
# the second library is missing
gpuprof run -q -o m.gpr -- env GPUPROF_METRICS=roofline GPUPROF_KERNEL=. \
	python3 -B $CLI/counter_job.py
gpuprof counters m.gpr | sed 2d
# the job itself sets a list without a name
gpuprof run -q --metrics roofline --kernel . -o n.gpr -- \
	env GPUPROF_METRICS=, python3 -B $CLI/counter_job.py
gpuprof counters n.gpr | sed 2d
# CUPTI accepts, but too few launches follow; and no request
gpuprof run -q --metrics roofline --kernel . -o f.gpr -- python3 -B $CLI/counter_job.py 2
gpuprof counters f.gpr | sed 2d
gpuprof counters $DATA/fake-held.gpr
# options that exclude each other, and bad ones
gpuprof run --metrics roofline --kernel . --gpu-time -- true
gpuprof run --metrics roofline --kernel . --launches=off -- true
gpuprof run --metrics roofline --kernel 'gemm(' -- true
gpuprof run --metrics roofline --kernel . --count 0 -- true
gpuprof run --count 3 -- true
for names in "" ',' 'roofline,' dram__bytes.sum,,roofline; do
	gpuprof run --metrics "$names" --kernel . -- true
done
gpuprof run --metrics roofline -- true
