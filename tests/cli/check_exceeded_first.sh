cd $DATA
gpuprof check --max-peak 100M --max-growth 0 h200_gpt_eager.gpr | grep "FAIL\|NOT"
gpuprof check --max-peak 100M --max-growth 0 --json h200_gpt_eager.gpr | grep -m 1 '"state"'
for limits in "--max-peak 100M --max-growth 0" "--max-peak 100G --max-growth 0" \
	"--max-peak 100G"; do
	gpuprof check $limits h200_gpt_eager.gpr >/dev/null
	echo "alone $?"
done
head -c 20000 h200_gpt_eager.gpr >$OLDPWD/torn.gpr
for peak in 100M 100G; do
	gpuprof check --max-peak $peak h200_gpt_graph.gpr $OLDPWD/torn.gpr none.gpr >/dev/null 2>&1
	echo "beside a torn one and none at $peak: $?"
done
