cd $DATA
r=h200_gpt_stacks.gpr
has() { grep -c "\"function\"" | sed "s/[1-9][0-9]*/stacks/"; }
for c in "peak $r" "top $r" "frag $r" "leaks leak_hooks.gpr" "idle h200_idle.gpr" "dump $r" \
	"check --max-growth 0 leak_hooks.gpr" "diff $r h200_inductor.gpr"; do
	echo "$c: $(gpuprof $c --json | has) $(gpuprof $c --json --no-stacks | has)"
done
gpuprof peak --json --no-stacks $r | python3 -c '
import json, sys

g = json.load(sys.stdin)["curves"][0]["groups"][0]
print(g["stacks"] > 0, "stack" in g)
'
for f in *.gpr; do
	gpuprof dump --json --kind oom $f
done | grep -o "\"has_free\": [01].*\"device_free\": [n1-9]" | sed "s/, .*,/,/" | sort | uniq -c
for f in *.gpr; do gpuprof dump --kind oom $f; done | grep -v has_free | grep -c device_free || :
