mkdir d d/r-3.gpr d/sub empty
for r in 10 2 1; do cp $DATA/fake-held.gpr d/r-$r.gpr; done
cp d/r-1.gpr d/.h.gpr
cp d/r-1.gpr d/sub
cp d/r-1.gpr d/r.txt
mkfifo d/f.gpr
for c in info timeline peak top verify "leaks --json" "check --max-peak 1G --json" oom frag phases \
	idle "dump d" "peak --tree" "diff" "info empty"; do
	echo "== $c"
	gpuprof $c d/ 2>&1 | grep -o "^gpuprof: .*\|[^ \"]*r-[0-9][0-9.gpr]*"
done
gpuprof peak d/r-1.gpr d empty | wc -l
gpuprof info empty
echo $?
