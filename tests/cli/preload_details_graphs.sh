# private pools: shared by two graphs, with a nested pool, never launched
export GPUPROF_ALLOCATOR_DETAILS=on
export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
gpuprof run -q --no-symbolize -o p.gpr -- python3 -B $CLI/graph_job.py pools
gpuprof graphs p.gpr | mask times blanks python
gpuprof graphs --json p.gpr | python3 -c '
import json, sys

report = json.load(sys.stdin)
for graph in report["graphs"]:
    print(*(graph[key] for key in ("pool", "pool_bytes", "pool_allocated_bytes")),
          *(graph[key] for key in ("other_pools", "other_pool_bytes", "launches")))
print(*report["pools"], sep="\n")'
