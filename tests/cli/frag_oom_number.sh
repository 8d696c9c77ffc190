$BUILD/frag/made_oom two made.gpr && gpuprof frag made.gpr | grep -e ^GPU -e " free +"
gpuprof frag --at oom:2 made.gpr | grep -e ^GPU -e " free +"
gpuprof oom --details --number 2 made.gpr | tail -n 1
for n in 0 3; do gpuprof frag --at oom:$n made.gpr; done
order=$(gpuprof oom --json made.gpr | sed -n 's/.*"order": \([0-9]*\),/\1/p' | tail -n 1)
gpuprof frag --at order:$order made.gpr | grep -e ^GPU -e " free +"
