export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --no-symbolize --stacks native -o a.gpr -- $BUILD/victims/leak_two >/dev/null
cp a.gpr b.gpr
gpuprof symbolize --json a.gpr b.gpr | python3 -c '
import json, sys

both = json.load(sys.stdin)
a, b = both
print(list(a))
print(
    a["named"] == a["added"] == b["named"] > 3,
    a["written"],
    a["names_bytes"] == b["names_bytes"] > 100,
    a["frames"] == a["named"] + a["in_no_module"] + sum((m["frames"] for m in a["unnamed"])),
)
'
cmp a.gpr b.gpr
cp a.gpr before
gpuprof symbolize --json a.gpr | grep "written\|added"
cmp a.gpr before
gpuprof info --json a.gpr | python3 -c '
import json, sys

i = json.load(sys.stdin)
print(i["format"], list(i["stacks"]), i["stacks"]["native_frames_named"] > 3)
'
