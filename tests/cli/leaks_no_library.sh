cd $DATA
for what in leak_hooks.gpr "--json leak_hooks.gpr" "leak_hooks.gpr leak_kv_cache.gpr" \
	h200_mlp.gpr; do
	gpuprof leaks --exit-code --library nosuch $what
	echo $?
done
gpuprof leaks --library cublas leak_hooks.gpr | grep "^No leak"
gpuprof leaks --library cublas --device 0 leak_hooks.gpr | grep "^No leak"
gpuprof leaks --device 1 h200_jax.gpr | grep "^No leak"
gpuprof leaks --library cuDNN leak_hooks.gpr h200_libraries.gpr
echo $?
gpuprof diff --library nosuch leak_hooks.gpr leak_kv_cache.gpr
echo $?
gpuprof leaks -o $BUILD/run/none --library nosuch leak_hooks.gpr 2>/dev/null
ls $BUILD/run/none 2>&1 | grep -c "No such"
