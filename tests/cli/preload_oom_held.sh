export LD_LIBRARY_PATH=$BUILD/fake
for job in "100 100 0" "60 100 0" "102 100 0" "400 300 80"; do
	gpuprof run -q --stacks=all --force -o a.gpr -- python3 -B $CLI/held_beside_gap.py $job
	gpuprof oom a.gpr | sed -n "2,/^no help/p" | sed "s/, at .*//"
done
