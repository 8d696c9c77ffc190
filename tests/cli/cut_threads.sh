head -c 45000 $DATA/h200_gpt_eager.gpr >cut.gpr
gpuprof verify --repair mended.gpr cut.gpr 2>/dev/null | grep -o "5,174 memory events missing"
gpuprof verify mended.gpr | grep -o "nothing damaged"
for f in cut mended; do
	gpuprof info $f.gpr | head -n 1
	gpuprof info --json $f.gpr | grep -E 'complete|mismatches|anomalies'
	gpuprof timeline --json $f.gpr | grep peaks_since
done
gpuprof timeline cut.gpr mended.gpr
