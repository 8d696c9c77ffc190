$BUILD/frag/made_gpu_time made.gpr
gpuprof kernels --json --no-stacks --top 2 made.gpr
# the rows add up to the totals
gpuprof kernels --json made.gpr | python3 -c '
import json, sys

report = json.load(sys.stdin)
for key, total in ("count", "total_count"), ("total_ns", "total_ns"):
    print(key, sum(row[key] for row in report["kernels"]) == report[total])
print("share", round(sum(row["share"] for row in report["kernels"]), 5))
'
