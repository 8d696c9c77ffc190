cd $DATA
f=h200_gpt_stacks.gpr
for n in peak reserved allocated; do
	v=$(gpuprof check --json --max-$n 0 $f | grep -o '"value": [0-9]*' | tr -dc 0-9)
	for d in -1 0; do
		gpuprof check --max-$n $((v + d)) $f >$OLDPWD/out
		echo "$? $(sed -n 3p $OLDPWD/out)"
	done
done
v=$(gpuprof check --json --min-headroom 0 $f | grep -o '"value": [0-9]*' | tr -dc 0-9)
for h in $v $((v + 1)) 99.0% 99.10% 99.105% 99.11%; do
	gpuprof check --min-headroom $h $f >$OLDPWD/out
	echo "$? $(sed -n "3s/; .*//p" $OLDPWD/out)"
done
for l in 2.59% 2.595% 2.6%; do
	gpuprof check --max-frag $l $f >$OLDPWD/out
	echo "$? $(sed -n 3p $OLDPWD/out)"
done
