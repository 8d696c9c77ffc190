cp $DATA/fake-filling.gpr x.gpr
cp $DATA/fake-filling-short.gpr short.gpr
gpuprof leaks --exit-code x.gpr
echo $?
gpuprof leaks --exit-code --filling x.gpr >out
echo $?
sed 1q out
gpuprof leaks --json x.gpr | python3 -c '
import json, sys

r = json.load(sys.stdin)
f = r["filling"]
print(
    len(r["suspects"]),
    len(f),
    160 < f[0]["live_count"] < 230,
    0.75 < f[0]["expected_count"] / 300 < 1.25,
    0.2 < f[0]["pace"] < 0.55,
)
'
for f in short x; do
	gpuprof check --max-growth 0 $f.gpr >out
	echo $?
	grep "^NOT JUDGED\|^what .*" out
done
