t="python3 -B $CLI/drive_terminal.py"
export GPUPROF_PAGER=cat
for size in 80 20; do
	$t $size 24 gpuprof peak --top 2 $DATA/h200_gpt_stacks.gpr
done
cd $DATA
$t 60 24 gpuprof leaks leak_hooks.gpr leak_pinned.gpr
$t 60 24 gpuprof leaks --wide --color never leak_hooks.gpr leak_pinned.gpr
LC_ALL=C $t 80 24 gpuprof peak --top 1 h200_gpt_stacks.gpr | sed -n 5,6p
