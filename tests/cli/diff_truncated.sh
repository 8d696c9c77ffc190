head -c 60000 $DATA/h200_gpt_stacks.gpr >cut.gpr
gpuprof diff --top 1 $DATA/h200_gpt_stacks.gpr cut.gpr 2>&1 | sed -n "1,10p"
gpuprof diff $DATA/h200_gpt_stacks.gpr cut.gpr >out
echo $?
