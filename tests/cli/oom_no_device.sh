$BUILD/frag/made_oom other made.gpr && gpuprof oom --device 3 made.gpr
echo $?
gpuprof oom --device 3 --number 1 --json made.gpr
echo $?
$BUILD/frag/made_oom beside two.gpr && gpuprof oom --details --device 1 two.gpr
echo $?
gpuprof oom --details --device 0 two.gpr | sed -n 3p
cp $DATA/h200_ddp.gpr d.gpr
gpuprof oom --device 1 -o x d.gpr
echo $?
ls
