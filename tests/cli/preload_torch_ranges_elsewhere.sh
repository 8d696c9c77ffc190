export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
gpuprof run -q --no-symbolize -o c.gpr -- $BUILD/victims/ends_elsewhere 40
gpuprof phases --recorded-only --json c.gpr >p.json
python3 -c '
import json

d = json.load(open("p.json"))
show = lambda p, n: (
    print(
        "  " * n + str(p["name"]),
        p["source"],
        p["calls"],
        "calls,",
        p["open"],
        "open,",
        p["allocated_bytes"],
        "bytes",
    ),
    [show(c, n + 1) for c in p["children"]],
)
for p in d["phases"]:
    show(p, 0)
print(d["unbalanced"], d["unseen"], d["unkept"])
'
gpuprof info c.gpr | head -1 | sed 's/.*events, //'
