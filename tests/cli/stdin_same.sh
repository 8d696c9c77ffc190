R=$DATA/h200_gpt_oom.gpr
plain() { LC_ALL=C sed -e "s#$R#-#g" -e '/^next: .* -$/d'; }
for c in info timeline peak idle frag oom "oom --details" top leaks phases dump verify \
	"check --max-peak 1G" "leaks --exit-code" "diff --from start --to peak" "info --json" \
	"top --json" "export --format torch"; do
	{
		gpuprof $c $R 2>&1
		echo $?
	} | plain >a
	{
		cat $R | gpuprof $c - 2>&1
		echo $?
	} >b
	{
		gpuprof $c - <$R 2>&1
		echo $?
	} >c
	cmp a b && cmp b c && echo "$c: $(tail -c 2 c)"
done
