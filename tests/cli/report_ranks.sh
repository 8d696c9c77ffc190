# recordings of one host: starts on its clock, and the outliers that the commands print
ranks() {
	gpuprof report --force -o page.html "$@" 2>/dev/null
	python3 -c '
import base64, gzip, json, re

text = re.search("id=\"gpuprof-report\">([^<]*)", open("page.html").read())[1]
ranks = json.loads(gzip.decompress(base64.b64decode(text)))["ranks"]
if not ranks:
    raise SystemExit(print("ranks:", ranks))
print("one clock:", ranks["is_one_clock"], "align:", ranks["align"], ranks["step"], ranks["why"])
for one in ranks["recordings"]:
    print("   ", *one.values())
for row in ranks["rows"]:
    print("    row", *row.values())
for figure in ranks["figures"]:
    print(*figure.values())
for finding in ranks["findings"]:
    print(*finding.values())
for name, command in ranks["commands"].items():
    print(name, command.count(".gpr"), command[:40])
'
}
cd $DATA && for command in info timeline frag; do gpuprof $command ranks | grep : ; done
cd $OLDPWD
cp $DATA/ranks/* .
ranks rank-*.gpr
# another boot has another clock; no step is common if one recording has none
python3 $CLI/patch_header.py 72 f <rank-1.gpr >other.gpr
ranks rank-0.gpr other.gpr | grep -A2 clock
cp $DATA/h200_idle.gpr $DATA/fake-held.gpr .
ranks rank-0.gpr h200_idle.gpr | grep -A2 clock
# two recordings ran out of memory, on one host and on two
cp rank-5.gpr again.gpr
python3 $CLI/patch_header.py 72 f <rank-5.gpr >elsewhere.gpr
for second in again elsewhere; do
	ranks rank-5.gpr $second.gpr | grep 'ran out'
done
# one clock, but the recordings do not overlap
python3 $CLI/patch_header.py 48 '\0\0\0\0\0\0\0\1' <rank-1.gpr >later.gpr
ranks rank-0.gpr later.gpr | grep -A2 clock
# one recording, and a damaged one beside it
ranks rank-0.gpr
: >empty.gpr
ranks rank-0.gpr empty.gpr
# the commands can be given a name like an option
cp rank-0.gpr ./-a.gpr
ranks -- -a.gpr rank-1.gpr | grep '^frag'
# time in kernels of NCCL, and numbers of ranks
for rank in 0 1 2 3; do
	$BUILD/frag/made_gpu_time usual$rank.gpr nccl
	$BUILD/frag/made_gpu_time slow$rank.gpr slow-nccl
done
ranks usual0.gpr usual1.gpr usual2.gpr slow3.gpr | grep -E 'NCCL|None'
ranks slow0.gpr slow1.gpr slow2.gpr usual3.gpr | grep NCCL
