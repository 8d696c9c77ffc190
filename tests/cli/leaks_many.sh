cd $DATA && gpuprof leaks leak_loss_list.gpr leak_pinned.gpr h200_clean_train.gpr
gpuprof leaks --json leak_hooks.gpr h200_clean_train.gpr | python3 -c '
import json, sys

print([len(r["suspects"]) for r in json.load(sys.stdin)])
'
for o in "h200_clean_train.gpr h200_phases.gpr" "h200_clean_train.gpr h200_clean_train_200.gpr" \
	"h200_phases.gpr leak_streams.gpr leak_hooks.gpr"; do
	gpuprof leaks $o | tail -n 1
done
