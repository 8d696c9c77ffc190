export LD_LIBRARY_PATH=$BUILD/fake
cp $BUILD/victims/leak_two job
gpuprof run -q --no-symbolize --stacks native -o a.gpr -- ./job >/dev/null
cp a.gpr named.gpr
gpuprof symbolize named.gpr >/dev/null
told() {
	gpuprof dump $1 | grep "without a name"
	gpuprof dump --json $1 | python3 -c '
import json, sys

print(
    *sorted(
        {
            "%s %s: %s" % (f["function"], f["module"].split("/")[-1], f["why"])
            for line in sys.stdin
            for f in json.loads(line).get("stack") or []
            if f["module"] and f["module"].endswith("/job")
        }
    ),
    sep="\n"
)
'
	gpuprof peak --json $1 |
		grep -o '"function": [^}]*"why": [^}]*' |
		sed -n "/\/job/s/.*\"why\"/peak/p" |
		sort -u
}
told a.gpr >here
grep -c "main job: None" here
grep -c "without a name" here
cp $BUILD/victims/drop_one job
told a.gpr
: >job
told a.gpr | grep without
rm job
told a.gpr | grep without
gpuprof dump --bare a.gpr | grep -c without
told named.gpr | cmp - here
