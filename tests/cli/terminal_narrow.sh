t="python3 -B $CLI/drive_terminal.py"
export GPUPROF_PAGER=cat
cd $DATA
for how in "80 50" "127 50" "128 50"; do
	for c in "phases h200_phases.gpr" "idle h200_idle.gpr"; do
		$t $how gpuprof $c >$OLDPWD/out
		python3 -c '
import sys

rows = [
    l.rstrip()
    for l in open(sys.argv[1]).read().split(chr(10))
    if l[:9].strip()[:1].isdigit() and (not l.startswith(chr(63)))
]
print(sys.argv[2], len(rows), max(map(len, rows)))
' $OLDPWD/out "$how"
		grep "^--wide\|calls .*mean\|count .*unused .*launches.*state" $OLDPWD/out
	done
done
$t 80 50 gpuprof phases --wide h200_phases.gpr | grep -A3 "^held:"
