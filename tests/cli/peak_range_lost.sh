f=$DATA/h200_ranges.gpr
for at in 5725 8588; do
	{
		head -c $at $f
		printf XXXX
		tail -c +$((at + 5)) $f
	} >flipped.gpr
	gpuprof verify --repair $at.gpr flipped.gpr >out 2>&1
	gpuprof peak --by range --of allocated $at.gpr | sed -n '4,${/^next/!p}'
done
gpuprof top --range 'micro batch' 5725.gpr | grep among
gpuprof peak 5725.gpr | grep -c among
