mkfifo pipe.gpr
gpuprof peak pipe.gpr
echo $?
cat $DATA/fake-held.gpr | gpuprof peak - | head -n 1
