umask 022
umask 0
echo old >out
ln -s out link
gpuprof info --force -o link missing.gpr
echo $?
cat out
chmod 644 out
gpuprof info --force -o link $DATA/fake-training.gpr
echo $?
stat -c "%a %F" out link
grep -c . out
gpuprof dump --force -o /dev/null $DATA/fake-training.gpr
echo $?
stat -c %F /dev/null
ls -A
