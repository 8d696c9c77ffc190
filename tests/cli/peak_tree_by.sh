for option in "--by line" --stacks "--top 3"; do
	gpuprof peak --tree $option a.gpr 2>&1 | head -n 1
done
