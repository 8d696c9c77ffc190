cd $DATA && gpuprof oom --details h200_oom_kinds.gpr | sed -n 1,30p
for n in 6 11 18 25; do
	gpuprof oom --details --number $n --top 2 h200_oom_kinds.gpr |
		sed -n '/^[0-9]*: /,/what would have helped/p'
done
