cd $DATA
for at in 2x oom:x oom:99 step:0 step:begin step:3 snapshot:7; do
	gpuprof frag --at $at h200_oom_kinds.gpr
done
gpuprof frag --at step:9 h200_gpt_eager.gpr
gpuprof frag --help | grep -A1 "^ *--at TIME"
gpuprof frag --at oom:3 h200_oom_kinds.gpr | tail -n 1
gpuprof frag --map --at oom:3 h200_oom_kinds.gpr | tail -n 1
