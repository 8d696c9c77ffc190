cd $DATA
for o in "--max-peak 20%" "--max-frag 20" "--max-frag 120%" "--min-headroom some" \
	"--min-headroom 10" "--update" "--tolerance 1%" "--baseline x --tolerance some" \
	"--baseline x --tolerance 5" "--device x --max-peak 1G" "--max-peak 0x10" ""; do
	gpuprof check $o fake-held.gpr 2>&1 | grep -v "^hint: usage"
done
gpuprof check --max-peak 1G 2>&1 | head -n 1
gpuprof check --max-peak 1G --device 3 fake-held.gpr
gpuprof check --max-peak 1G none.gpr
