try() {
	gpuprof "$@" 2>&1
	echo $?
}
R=$DATA/h200_mlp.gpr
try info - - <$R
try symbolize - <$R
try info - <&-
try info - </
try info - </dev/null
: | try peak -
echo no recording | try top -
cat $R | TMPDIR=none try info -
try check --baseline - --update $R
try peak - -o x <$R
cp $R x
try peak - -o x --force <x
printf x >-
try info ./-
ls -A
