echo mine >taken
gpuprof info -o taken $DATA/fake-training.gpr
echo $?
cat taken
gpuprof info --force -o taken $DATA/fake-training.gpr
echo $?
grep -c . taken
