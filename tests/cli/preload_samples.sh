export LD_LIBRARY_PATH=$BUILD/fake
# The GPU works for 150 ms and rests for 150 ms, six times, and is sampled each 5 ms. The clock of
# the fake GPU has another zero and runs fast; a sample's own time shows where it belongs.
gpuprof run -q --metrics gr__cycles_active.avg.pct_of_peak_sustained_elapsed,fake__end.sum \
	--interval 5ms -o d.gpr -- python3 -B $CLI/sample_job.py 6 0.15
python3 -B $CLI/sample_check.py d.gpr
gpuprof verify d.gpr | grep -c "nothing damaged; complete"
# the usual metrics; this GPU has no NVLink
gpuprof run -q --metrics utilization -o u.gpr -- python3 -B $CLI/sample_job.py 1 0.3
gpuprof counters u.gpr | sed '2d; s/: [0-9]* samples.*/: samples/; s/ *[▂▃█][▂▃█]*  */ STRIP /' |
	grep -v " active"
gpuprof counters --from 100ms --to 400ms u.gpr | sed -n 's/.* samples of/samples of/p
		s/ *[▂▃█]\{45,\}/ WHOLE/p'
gpuprof counters --csv u.gpr | head -n 1
gpuprof counters d.gpr u.gpr | sed 's/[0-9.]*%/%/g; s/end.*/end/'
# GPU time in the same run
gpuprof run -q --metrics utilization --gpu-time -o b.gpr -- python3 -B $CLI/sample_job.py 2 0.3
gpuprof kernels --json b.gpr | python3 -c 'import json, sys
print(sorted(k["name"] for k in json.load(sys.stdin)["kernels"]))'
gpuprof counters b.gpr | grep -c "^GPU 0: "
gpuprof counters --csv --json u.gpr
