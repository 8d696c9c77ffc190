cd $DATA &&
	gpuprof dump --kind block_alloc,resource --limit 60 h200_phases.gpr |
	sed -n 's/^ *\([0-9.]* ms\).* \(block_alloc\|resource\) .*\( in .*\|)\|0\)$/\1 \2\3/p' |
		tail -n 5
gpuprof dump --json h200_phases.gpr | python3 -c '
import collections, json, sys

seen = collections.Counter(
    (
        " > ".join(e["ranges"]) or "outside"
        for e in map(json.loads, sys.stdin)
        if e["kind"] == "launch"
    )
)
for k in sorted(seen):
    print(k, seen[k])
'
gpuprof dump --json --kind thread,range_push --limit 40 h200_phases.gpr | grep -c ranges
gpuprof dump --json h200_gpt_stacks.gpr | grep -c '"ranges"' || true
