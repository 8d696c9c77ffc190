r=$DATA/fake-training.gpr
for mask in 0 022 027 077; do
	umask $mask
	gpuprof info --json -o i$mask $r
	gpuprof timeline --csv -o c$mask $r
	gpuprof timeline --svg -o s$mask $r
	gpuprof frag --map -o f$mask.svg $DATA/h200_mlp.gpr
	gpuprof export --format torch -o e$mask $r 2>/dev/null
	gpuprof verify --repair v$mask.gpr $r >/dev/null
	echo $mask $(stat -c %a i$mask c$mask s$mask f$mask.svg e$mask v$mask.gpr)
done
umask 0
chmod 640 i077
gpuprof info --force -o i077 $r
stat -c %a i077
