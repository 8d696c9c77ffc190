for c in capacity limit untold other growth both cache fragmentation split nearly alike unlike \
	stream streams newcomer graph unknown leaking pages; do
	$BUILD/frag/made_oom $c $c.gpr
	gpuprof oom --number 1 $c.gpr >$c
	echo "== $c"
	sed -n "2,\$p" $c | grep -v "^next:"
	[ $(wc -l <$c) -le 10 ] || echo "too long"
done
