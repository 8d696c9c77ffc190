export LD_LIBRARY_PATH=$BUILD/fake
shown() {
	for file in "$@"; do
		gpuprof counters --json $file | python3 -c 'import json, sys
r = json.load(sys.stdin)
values = [(k["symbol"], k["count"], k["metrics"][0]["value"]) for k in r["kernels"]]
print(r["why"], sorted(values))'
	done
}
# a process that ends in the middle of a measurement
gpuprof run -q --metrics dram__bytes.sum --kernel copy -o e.gpr -- \
	python3 -B $CLI/counter_job.py 3 leave
shown e.gpr
# a context that ends in the middle of a measurement, and a kernel in the next one
gpuprof run -q --metrics dram__bytes.sum --kernel gemm -o c.gpr -- \
	python3 -B $CLI/counter_job.py 6 again
shown c.gpr
# launches that the driver refuses, between those that it accepts
FAKE_PROFILER_PASSES=1 gpuprof run -q --metrics dram__bytes.sum --kernel . -o s.gpr -- \
	python3 -B $CLI/counter_job.py 40 refused
shown s.gpr
# threads that launch at once: no value is of two launches, and the job ends well
FAKE_PROFILER_PASSES=2 gpuprof run -q --metrics dram__bytes.sum --kernel . -o t.gpr -- \
	python3 -B $CLI/counter_job.py 0 threads && echo ended
gpuprof counters --json t.gpr | python3 -c 'import json, sys
own = {"copy_rows": 4000, "_Z4gemmILi128EEvPKfPf": 500, "add_rows": 6000}
kernels = json.load(sys.stdin)["kernels"]
print("wrong:", [k for k in kernels if k["metrics"][0]["value"] != own[k["symbol"]]])'
# a child of a process that has measured
gpuprof run -q --metrics dram__bytes.sum --kernel copy -o f-%p.gpr -- \
	python3 -B $CLI/counter_job.py 40 fork 2>&1 | sed 's/^gpuprof: //'
shown f-*.gpr | sort
# a malloc that calls the driver under its lock: our thread must not start inside it
timeout -k 5 60 gpuprof run -q --metrics roofline --kernel . -o l-%p.gpr -- \
	$BUILD/victims/malloc_asks_driver alone >l.out 2>l.err && echo ended
