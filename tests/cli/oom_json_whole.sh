cd $DATA && for top in "" "--top 5" "--top 0"; do
	gpuprof oom --json $top h200_gpt_oom.gpr | python3 -c '
import json, sys

print(len(json.load(sys.stdin)["ooms"][0]["pins"]))
'
done
gpuprof frag --fit "1.50 GiB" --json h200_gpt_oom.gpr | grep -c '"fit"'
gpuprof frag --fit 1.5 h200_gpt_oom.gpr
