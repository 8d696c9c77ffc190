cd $DATA && for c in "--of driver" "--json" "--tree" "--of allocated -o $OLDPWD/x"; do
	gpuprof peak $c --library NCCL h200_gpt_stacks.gpr
	echo $?
done
gpuprof peak --library cuBLAS --of allocated h200_gpt_stacks.gpr
echo $?
gpuprof peak --library NCCL fake-held.gpr h200_gpt_stacks.gpr fake-demo.gpr
echo $?
gpuprof peak --device 7 fake-held.gpr h200_gpt_stacks.gpr
ls $OLDPWD
