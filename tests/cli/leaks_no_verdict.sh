cd $DATA
for what in "--to step:6 leak_loss_list.gpr" "--to step:10 leak_kv_cache.gpr" \
	"--to step:10 leak_hooks.gpr" "--to step:12 h200_clean_serve.gpr" \
	"--to step:13 h200_clean_serve.gpr" h200_phases.gpr h200_calls.gpr fake-held.gpr \
	"leak_hooks.gpr h200_calls.gpr" "h200_clean_train.gpr h200_clean_serve.gpr"; do
	echo "== $what"
	gpuprof leaks --exit-code $what 2>&1 >$OLDPWD/out | sed "s/^hint/  hint/"
	gpuprof leaks --exit-code $what >$OLDPWD/out 2>/dev/null
	echo $?
	grep "No verdict\|No leak\| - .*calls" $OLDPWD/out
done
gpuprof leaks --json --to step:6 leak_loss_list.gpr | grep '_verdict'
gpuprof leaks h200_calls.gpr >/dev/null
echo $?
for n in 4 5 6 7 8 9 10 11 12; do
	for r in loss_list hooks kv_cache; do
		gpuprof leaks --to step:$n leak_$r.gpr | grep -c "No leak"
	done
done | sort -u
