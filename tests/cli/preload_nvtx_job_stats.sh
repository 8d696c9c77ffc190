# ranges of a job from the fake CUPTI to each report
cat >is_recorded.sh <<'END'
env -u LD_PRELOAD gpuprof dump r.gpr | grep -q ' gpu_time what='
END
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q --gpu-time -o r.gpr -- \
	$BUILD/victims/training_ranges 10 await "sh is_recorded.sh" >/dev/null
python3 -B $CLI/stats_formats.py r.gpr
python3 -B $CLI/stats_recount.py r.gpr
gpuprof stats -r nvtx_gpu_proj_sum --format csv r.gpr | cut -d, -f1,2,13,14 | sort
gpuprof stats -r nvtx_pushpop_trace --format csv r.gpr | cut -d, -f6,9,13,14 | head -n 6
# the job calls in its main thread, but for one range
gpuprof stats -r nvtx_pushpop_trace --format csv r.gpr |
	awk -F, 'NR > 1 { print $7 == $8 ? "main thread" : $6 }' | sort | uniq -c
# each thread has the system's id
gpuprof dump --kind thread r.gpr | sed -n 's/.*tid=\([0-9]*\).*/\1/p' | sort >threads
gpuprof stats -r nvtx_pushpop_trace --format csv r.gpr | cut -d, -f8 | sed 1d | sort -u |
	comm -23 - threads
