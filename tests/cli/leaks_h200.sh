cd $DATA && for r in loss_list hooks kv_cache pinned streams; do
	gpuprof leaks --exit-code leak_$r.gpr
done
for r in train compile serve; do
	gpuprof leaks --exit-code h200_clean_$r.gpr && echo silent
done
for r in train compile serve; do
	gpuprof leaks --exit-code h200_clean_${r}_200.gpr | sed -n '1p;3p'
done
