export LD_LIBRARY_PATH=$BUILD/fake
for bytes in 8388608 512; do
	gpuprof run -q --stacks=off -o $bytes.gpr -- python3 -B $CLI/leaky_loop.py 60 $bytes
	gpuprof leaks $bytes.gpr |
		mask python steps full |
		grep -n "^No stacks\|no stack was\|full\|^next" |
		sed '1s/^1:/top: /; s/^[0-9]*://'
done
