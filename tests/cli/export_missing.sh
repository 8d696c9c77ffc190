gpuprof export --format torch -o new.pickle missing.gpr
echo "? $?"
ls
