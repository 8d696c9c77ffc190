narrow() { cut -c1-98 | sed 's/ *$//'; }
$BUILD/frag/made_gpu_time made.gpr
gpuprof stats
# rows are not folded on a terminal
python3 -B $CLI/drive_terminal.py 60 40 gpuprof stats -r cuda_gpu_kern_sum made.gpr | narrow
for report in cuda_gpu_kern_sum nvtx_gpu_proj_sum; do
	gpuprof stats -r $report made.gpr | narrow
done
gpuprof stats -r cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum -r cuda_gpu_kern_sum \
	--format csv made.gpr
gpuprof stats -r nvtx_kern_sum --format csv made.gpr |
	sed 's/,PushPop,[0-9]*/,PushPop,PID/' | narrow
gpuprof stats -r nvtx_pushpop_trace --format json --to 30us made.gpr |
	sed 's/"PID": [0-9]*, //; s/, /,\n /g'
