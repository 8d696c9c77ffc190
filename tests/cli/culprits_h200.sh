cd $DATA && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=../gpu python3 -c '
import judge_stacks as s

j = s.Judge("h200")
s.judge_culprits(j, list(s.dumped("gpuprof", "h200_gpt_stacks.gpr")))
raise SystemExit(j.failures > 0)
'
