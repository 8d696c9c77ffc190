# calls that break a capture, graphs of known content and life, captures that the recording cuts
export LD_LIBRARY_PATH=$BUILD/fake
cat >show.py <<'END'
import json, sys

report = json.load(sys.stdin)
for failure in report["failed"]:
    names = [frame["function"] for frame in failure["stack"]]
    assert failure["file"].endswith("graph_job.py") and failure["line"] > 0
    assert failure["began_ns"] <= failure["at_ns"]
    print(failure["call"], failure["error"], failure["at_end"], failure["ended"], names[0])
for graph in sorted(report["graphs"], key=lambda graph: graph["at_ns"]):
    names = [frame["function"] for frame in graph["stack"]]
    nodes = [f"{kind}={count}" for kind, count in graph["nodes"].items() if count]
    kernels = [f"{kernel['name']}={kernel['count']}" for kernel in graph["kernels"]]
    print(graph["origin"], *nodes, *kernels, graph["partial"], *names[:2])
    print(" ", *(graph[key] for key in ("instantiations", "updates", "launches", "untimed")),
          graph["node_bytes"], graph["driver_bytes"], "gone" if graph["gone_ns"] else "there")
    if graph["launches"]:
        assert graph["at_ns"] < graph["first_launch_ns"] <= graph["last_launch_ns"]
        assert 0 <= graph["longest_ns"] <= graph["host_ns"]
print(*(report[key] for key in ("launches", "graph_launches", "graph_kernels")),
      report["unknown_launches"], report["open_captures"], round(report["share"], 3))
END
for job in broken clean lives left; do
	echo "$job:"
	gpuprof run -q --stacks python -o $job.gpr -- python3 -B $CLI/graph_job.py $job
	gpuprof graphs --json $job.gpr | python3 show.py
done
gpuprof graphs --kernels lives.gpr | mask times blanks
gpuprof graphs --top 2 broken.gpr | mask times blanks
# the recording begins in the middle of a capture
mkfifo in out
GPUPROF_START=off GPUPROF_OUTPUT=$PWD/late.gpr LD_PRELOAD=$PRELOAD \
	python3 -B $CLI/graph_job.py late <in >out &
job=$!
exec 3>in 4<out
read -r _ <&4
gpuprof ctl $job start >/dev/null
echo >&3
wait $job
gpuprof graphs --json late.gpr | python3 show.py
# the driver was not called in any capture, so all of five succeed under each kind of stacks
for stacks in off native all; do
	gpuprof run -q --stacks $stacks -o s-$stacks.gpr -- python3 -B $CLI/graph_job.py clean
done
gpuprof graphs s-*.gpr
gpuprof info broken.gpr | tail -n 1
