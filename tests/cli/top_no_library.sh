cd $DATA && for c in "--of driver" "--json"; do
	gpuprof top $c --library NCCL h200_gpt_stacks.gpr
	echo $?
done
gpuprof top --library cuBLAS --of allocated h200_gpt_stacks.gpr
echo $?
gpuprof top --library NCCL fake-held.gpr h200_gpt_stacks.gpr
