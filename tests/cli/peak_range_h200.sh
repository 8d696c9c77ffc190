cd $DATA && for r in h200_phases h200_ranges; do
	gpuprof peak --by range $r.gpr | grep -v ^next
done
gpuprof peak --by range --of driver --json h200_ranges.gpr |
	grep -oE \
		'"key": "[^"]*", "ranges": [^]n]*(]|null), "phase": ("[^"]*"|null), "bytes": [0-9]*'
gpuprof peak --by kind --range 'Optimizer*' --of allocated h200_ranges.gpr | tail -n +3
gpuprof peak --range nosuch h200_ranges.gpr
