# from the fake CUPTI to each report: as many operations as the job calls
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --gpu-time -o r.gpr -- python3 -B $CLI/gpu_job.py await
python3 -B $CLI/stats_formats.py r.gpr
gpuprof stats -r cuda_gpu_kern_sum --format csv r.gpr | cut -d, -f3,9
gpuprof stats -r cuda_gpu_mem_size_sum --format csv r.gpr
gpuprof stats -r cuda_kern_exec_sum --format csv r.gpr | cut -d, -f3,4,26,27
gpuprof stats -r cuda_gpu_trace --format csv r.gpr | sed 1d |
	cut -d, -f5-10,13,15-21 | sort | uniq -c
gpuprof stats -r nvtx_kern_sum r.gpr | tail -n 1
# the job calls in its main thread, whose id is that of the process
gpuprof stats -r cuda_kern_exec_sum --format csv r.gpr |
	awk -F, 'NR > 1 { print $2 == $1 ? "main thread" : "thread " $2 " of " $1 }'
