narrow() { cut -c1-98 | sed 's/ *$//'; }
$BUILD/frag/made_gpu_time made.gpr
for report in cuda_gpu_trace nvtx_gpu_proj_trace cuda_kern_exec_sum; do
	gpuprof stats -r $report --format csv --to 300us made.gpr |
		sed -n '1{s/,\([A-Z]*StdDev (ns)\|BlkX\|PID\),/,\n\1,/g; p}; 2,4p' |
		sed 's/PushPop,[0-9]*/PushPop,PID/
			s/^[0-9]*,,0/PID,,0/; s/NVIDIA H100 80GB HBM3/H100/' |
		narrow
done
# a kernel of a graph, a span, and one without a kernel
gpuprof stats -r cuda_gpu_kern_sum --format csv --from step:2 --to step:3 made.gpr
gpuprof stats -r cuda_gpu_kern_sum --from 13.44ms made.gpr | narrow
# a started range has the work of its thread, of all threads if another thread ended it
$BUILD/frag/made_gpu_time started.gpr started
gpuprof stats -r nvtx_gpu_proj_sum --format csv started.gpr | cut -d, -f1-5,11
gpuprof stats -r nvtx_gpu_proj_trace --format csv started.gpr | grep StartEnd | cut -d, -f1-6,9-
# threads with a known id
gpuprof stats -r nvtx_gpu_proj_trace --format csv started.gpr | cut -d, -f1,8 | tail -n 3
gpuprof stats -r nvtx_pushpop_trace,nvtx_kern_sum --format csv started.gpr | grep StartEnd | wc -l
python3 -B $CLI/stats_formats.py started.gpr | grep proj
