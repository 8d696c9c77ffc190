cd $DATA && gpuprof check --max-peak 1GiB fake-killed.gpr
echo $?
gpuprof check --max-peak 500M fake-killed.gpr | head -n 3
head -c 300000 h200_ddp.gpr | head -c 50000 >$OLDPWD/cut.gpr
cd $OLDPWD
gpuprof check --max-peak 100GiB cut.gpr
