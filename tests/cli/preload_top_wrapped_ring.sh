export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --ring 1M --stacks=native -o w.gpr -- $BUILD/victims/training_loop 300 4 |
	grep -c steps
gpuprof top --json w.gpr | python3 -c '
import json, sys

print(
    [
        g["short_lived"] <= g["freed"] <= g["count"]
        for d in json.load(sys.stdin)["curves"]
        for g in [d] + d["groups"]
    ].count(False)
)
'
kept=$(gpuprof info --json w.gpr | sed -n 's/.*"kept_from_ns": \([0-9]*\).*/\1/p')
for from in 1us $kept; do
	gpuprof top --of driver --from $from w.gpr |
		grep -o -E "counted from|of them live at the end"
done
