cd $DATA && gpuprof leaks --library nothing leak_hooks.gpr | grep -c "a step since"
gpuprof leaks --exit-code --device 1 leak_hooks.gpr
echo $?
gpuprof leaks --library nothing leak_hooks.gpr leak_loss_list.gpr | grep -c KiB
gpuprof leaks --from step:20 --to step:40 --top 1 leak_kv_cache.gpr | grep "a step since\|more"
gpuprof leaks --top x leak_hooks.gpr 2>&1 | head -n 1
gpuprof leaks --from step:99 leak_hooks.gpr
gpuprof leaks 2>&1 | head -n 1
