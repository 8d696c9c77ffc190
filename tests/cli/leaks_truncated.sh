head -c 30000 $DATA/leak_loss_list.gpr >cut.gpr
gpuprof leaks cut.gpr | sed -n "1,3p;/a step since/p"
cp $DATA/leak_loss_list.gpr x.gpr
printf X | dd of=x.gpr bs=1 seek=30000 conv=notrunc 2>/dev/null
gpuprof leaks --exit-code x.gpr >out 2>&1
echo $?
gpuprof leaks none.gpr
echo $?
