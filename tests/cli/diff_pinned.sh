cd $DATA
gpuprof diff --from step:10 --to step:40 leak_pinned.gpr | sed -n "/^Host/,\$p"
gpuprof diff --json --of pinned h200_clean_train.gpr \
	leak_pinned.gpr >$BUILD/run/cli/diff_pinned/d.json
python3 -c '
import json, sys

d = json.load(open(sys.argv[1]))
print(d["devices"][-1])
for c in d["curves"]:
    print(c["device"], c["of"], c["live_bytes"], [g["change_bytes"][1] for g in c["groups"]])
' $BUILD/run/cli/diff_pinned/d.json
gpuprof diff h200_clean_train.gpr leak_pinned.gpr | sed 2q
