cd $DATA && for r in h200_clean_train leak_kv_cache h200_phases; do
	for s in "10 11" "11 12" "10 12" "2 3"; do
		set -- $s
		test $r != h200_phases || set -- $(($1 - 2)) $(($2 - 2))
		test $1 != 0 || continue
		echo $r $1-$2 $(gpuprof top --from step:$1 --to step:$2 --json $r.gpr | python3 -c '
import json, sys

d = json.load(sys.stdin)["curves"]
print([(x["count"], x["bytes"]) for x in d if x["of"] == "allocated"])
')
	done
done
