cd $DATA
t="python3 -B $CLI/drive_terminal.py 100 50"
for w in "leaks leak_hooks.gpr" "leaks h200_clean_train.gpr" \
	"check --max-peak 1GiB h200_gpt_graph.gpr" "check --max-peak 9GiB h200_gpt_graph.gpr" \
	"oom h200_gpt_oom.gpr" "info no_such.gpr" "info fake-no_room.gpr"; do
	$t gpuprof $w | grep '\\e\['
done
for e in NO_COLOR=1 TERM=dumb; do
	$t env $e gpuprof leaks leak_hooks.gpr | grep -c '\\e\['
done
$t gpuprof leaks --color=never leak_hooks.gpr | grep -c '\\e\['
gpuprof leaks --color=always leak_hooks.gpr | grep -c "$(printf '\033')"
gpuprof leaks leak_hooks.gpr | grep -c "$(printf '\033')"
