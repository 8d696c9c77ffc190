cd $DATA
for f in leak_hooks leak_kv_cache leak_loss_list leak_pinned h200_clean_train h200_clean_serve \
	h200_clean_compile h200_gpt_stacks; do
	echo "== $f"
	gpuprof check --max-growth 0 $f.gpr >$OLDPWD/out
	echo $?
	tail -n +3 $OLDPWD/out
done
gpuprof check --max-growth 11264 leak_hooks.gpr | tail -n 1
gpuprof check --max-growth 11263 leak_hooks.gpr | sed -n 3p
