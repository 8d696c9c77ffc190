cd $DATA && gpuprof diff --by range h200_phases.gpr h200_ranges.gpr | sed -n '/^GPU 0, [ad]/,$p'
gpuprof diff --by range --json h200_phases.gpr h200_ranges.gpr |
	grep -oE '"key": "[^"]*"|"ranges": [^]n]*(]|null)|"bytes": [^]]*]' |
	head -n 12
true
