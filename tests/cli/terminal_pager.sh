t="python3 -B $CLI/drive_terminal.py 100 8"
cd $DATA
show() {
	echo "== $1"
	shift
	"$@" 2>&1 | grep -v "^sh: " | cut -c1-60
}
o="gpuprof oom h200_gpt_oom.gpr" c="gpuprof check --max-peak 1KiB h200_gpt_graph.gpr" \
	m="gpuprof info h200_mlp.gpr h200_mlp.gpr"
show pages env GPUPROF_PAGER="sed s/^/page:/" $t $o
show short env GPUPROF_PAGER="sed s/^/page:/" $t $m
show 'PAGER' env PAGER="sed s/^/page:/" $t $o
show none env GPUPROF_PAGER= PAGER=false $t $o
show off env GPUPROF_PAGER="sed s/^/page:/" $t $o --no-pager
show json env GPUPROF_PAGER="sed s/^/page:/" $t gpuprof check --json --max-peak 1KiB \
	h200_gpt_graph.gpr
show left env GPUPROF_PAGER="head -n 1" $t $c
show fails env GPUPROF_PAGER=/no/such/pager $t $o
echo "== dumb"
GPUPROF_PAGER="sed s/^/page:/" $t env TERM=dumb $o | sed -n 1p
