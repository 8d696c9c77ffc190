for o in x%z.gpr "x%q{FOO.gpr" "x%q{}" x%; do
	gpuprof run -o "$o" -- touch started
	echo $?
done
GPUPROF_OUTPUT=%Z gpuprof run -- touch started
echo $?
gpuprof run --launches=maybe -- touch started
echo $?
gpuprof run -o "%%%h%q{FOO}%p" --launches=No --start=TRUE -v off -- echo ran 2>/dev/null
echo $?
ls -A
