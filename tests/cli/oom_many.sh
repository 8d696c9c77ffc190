cd $DATA && gpuprof oom h200_gpt_oom.gpr fake-held.gpr h200_oom_kinds.gpr
gpuprof oom fake-held.gpr fake-training.gpr
mkdir $OLDPWD/none
cp fake-held.gpr fake-training.gpr $OLDPWD/none
(
	cd $OLDPWD
	gpuprof oom none
	gpuprof peak none | tail -n 1
)
gpuprof oom --number 1 fake-held.gpr h200_gpt_oom.gpr 2>&1 | head -n 1
gpuprof oom --json fake-held.gpr h200_gpt_oom.gpr | python3 -c '
import json, sys

print([(r["file"], len(r["ooms"])) for r in json.load(sys.stdin)])
'
gpuprof oom --top 1 h200_gpt_oom.gpr fake-held.gpr h200_oom_kinds.gpr |
	sed -n "/^details/,/verdict:/p"
