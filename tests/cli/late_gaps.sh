$BUILD/hostile/made_hostile owners_gone_in_turn 5000 a.gpr
$BUILD/hostile/made_hostile owners_gone_in_turn 100 b.gpr
for f in b a; do
	gpuprof timeline --fragmentation $f.gpr | sed 1q | tr ';' '\n'
	gpuprof timeline --json --fragmentation $f.gpr | sed -n '/uncertain/,/late_gaps/p'
	gpuprof timeline --json $f.gpr | grep -c late_gaps
	gpuprof frag --at end $f.gpr | grep '^note' | tr ';' '\n' | grep 'work limit'
	gpuprof frag --json $f.gpr | grep not_known | tr ';' '\n' | grep 'work limit'
done
