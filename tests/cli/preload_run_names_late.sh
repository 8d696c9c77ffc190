export LD_LIBRARY_PATH=$BUILD/fake
v=$BUILD/victims/leak_two
quick() { LD_PRELOAD=$BUILD/fake/hurry.so "$@"; }
quick env HURRY=100000000 gpuprof run --stacks native -o soft.gpr -- sh -c "$v; exit 5" 2>&1 |
	tail -n 1
quick env HURRY=40 HURRY_STUCK=/dev/null gpuprof run --stacks native -o hard-%p.gpr -- sh -c "
	$v
	$v
	exit 6" >out 2>&1
echo $?
tail -n 1 out | sed "s/hard-[0-9]*/hard-N/"
quick env HURRY=40 HURRY_STUCK=/dev/null gpuprof run -q --stacks native -o quiet.gpr -- $v
quick env HURRY_DIES=1 gpuprof run --stacks native -o dies.gpr -- sh -c "$v; exit 7" >out 2>&1
echo $?
tail -n 1 out
quick env HURRY_FULL=1 gpuprof run --stacks native -o full.gpr -- $v 2>&1 | tail -n 1
for f in *.gpr; do
	gpuprof verify $f | grep -o "nothing damaged; complete"
	gpuprof symbolize $f | grep -c named
done
python3 $CLI/drive_run.py naming
