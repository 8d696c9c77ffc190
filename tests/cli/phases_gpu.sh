$BUILD/frag/made_gpu_time made.gpr
gpuprof phases --gpu made.gpr | sed 's/time, launches.*/.../'
gpuprof phases --gpu --json made.gpr | grep -o '"name": [^,]*\|"gpu_[^,]*'
# without GPU time, and with another attribution
$BUILD/frag/made_gpu_time none.gpr none
gpuprof phases --gpu none.gpr | tail -n 2
gpuprof phases --gpu --own-thread made.gpr 2>&1 | head -n 1
