d=$DATA/fake-held.gpr
for o in "top --top x" "dump --limit many" "idle --least x" "leaks --top -1" "peak --device 64" \
	"timeline --rows 0" "timeline --points 5" "frag --columns 401" "oom --number 0" \
	"phases --depth 0" "run --keep x" "run --stack-depth 65" "run --light=maybe" \
	"peak --color bogus"; do
	gpuprof $o $d
done
