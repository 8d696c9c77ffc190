recording() {
	GPUPROF_OUTPUT=$1 gpuprof doctor |
		grep -E "^[a-z]+ +recording " |
		sed "s/, .* free$/, SPACE/"
}
mkdir d
recording d/x.gpr
recording x-%p.gpr
recording d/%h/x
recording /proc/x.gpr | sed "s:'.*:PROC:"
recording nowhere/x
touch file
recording file/x
ls -AR
GPUPROF=No gpuprof doctor | grep -E "^[a-z]+ +library "
