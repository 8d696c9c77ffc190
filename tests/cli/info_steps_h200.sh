cd $DATA && for r in h200_ranges h200_clean_compile h200_clean_serve h200_phases; do
	gpuprof info --steps $r.gpr | grep -o "^steps  *[0-9]*, by [a-z]*"
done
