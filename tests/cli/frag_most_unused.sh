cd $DATA
for f in gpt_eager oom_kinds; do
	gpuprof frag h200_$f.gpr | sed -n "2p;/^  most/p"
done
gpuprof frag --at peak:unused h200_gpt_eager.gpr | sed -n "2p;/unused:/p"
gpuprof peak --at peak:unused h200_gpt_eager.gpr | sed -n 2p
gpuprof frag --at peak:unused h200_jax.gpr
gpuprof timeline --to peak:unused h200_jax.gpr
