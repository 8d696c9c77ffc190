export GPUPROF_ALLOCATOR_DETAILS=on
LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_START=off \
	GPUPROF_OUTPUT=$PWD/s.gpr $BUILD/victims/training_loop 20 200 >/dev/null &
job=$!
until gpuprof ctl $job start >/dev/null 2>ctl.err; do kill -0 $job || exit; done
wait $job
gpuprof frag --json --at end s.gpr | python3 -c '
import json, sys

d = json.load(sys.stdin)["devices"][0]
b = [x for s in d["segments"] for x in s["blocks"] if x["state"] != "free"]
print(
    len(b) > 100,
    sum((x["bytes"] for x in b)) == d["allocated_bytes"],
    d["requested_bytes"] is not None,
    all((x["requested_bytes"] for x in b)),
    all((s["stream"] == "0x0" for s in d["segments"])),
    sum((s["bytes"] for s in d["segments"])) == d["reserved_bytes"],
)
'
gpuprof info s.gpr | sed -n "s/^self-check.*: //p; s/^allocator *//p"
