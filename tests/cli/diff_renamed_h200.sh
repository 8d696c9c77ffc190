cd $DATA
gpuprof diff --of allocated h200_clean_serve.gpr leak_kv_cache.gpr |
	sed -n "1p;/^GPU 0, allocated/,\$p"
gpuprof diff --json h200_clean_serve.gpr leak_kv_cache.gpr | python3 -c '
import json, sys

print(
    [
        (c["of"], c["changed"], c["renamed"], [g["change_bytes"] for g in c["groups"]])
        for c in json.load(sys.stdin)["curves"]
    ]
)
'
gpuprof diff leak_kv_cache.gpr h200_clean_serve.gpr | sed 1q
gpuprof diff --from step:2 --to end leak_kv_cache.gpr | grep -c "innermost"
