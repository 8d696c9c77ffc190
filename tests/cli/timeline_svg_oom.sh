gpuprof timeline --svg $DATA/h200_gpt_oom.gpr | grep -E "oom|failed" | grep -v "^\." | mask numbers
gpuprof timeline $DATA/h200_gpt_oom.gpr | grep -E " x |^ *[xr] *$|asked|CUDA call"
gpuprof timeline --json --at oom $DATA/h200_gpt_oom.gpr | grep to_ns
