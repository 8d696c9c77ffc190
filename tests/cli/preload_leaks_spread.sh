export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks=all -o x.gpr -- python3 -B $CLI/leaky_loop.py 60 512 deep
gpuprof leaks --exit-code x.gpr >out
echo $?
grep -v "py:83)\|^next\|events, " out |
	sed "
		s/[0-9]* turns deep: [0-9]* of [0-9]*/N turns deep: some/
		s,: [0-9]* of [0-9]* int,: N of N int,
		s/[0-9]* PyTorch blocks, together [0-9.]* KiB,/blocks,/
		s/over [0-9]* stacks/over N stacks/
		s/p [<=] [^)]*/p/" |
	mask steps full
grep -c 'turns deep: [0-9]* of' out | sed 's/[123]/some/'
gpuprof leaks --json x.gpr | python3 -c '
import json, sys

r = json.load(sys.stdin)
print(
    [
        (s["by"], s["stacks"] > 20, s["owner"], s["bytes_per_step"], len(s["parts"]))
        for s in r["suspects"]
    ],
    r["stacks"] < r["tests"],
    [f["bytes_per_step"] for f in r["full"]],
)
'
gpuprof run -q --stacks=all -o y.gpr -- python3 -B $CLI/leaky_loop.py 200 512 deep
gpuprof leaks y.gpr | grep -o '^[0-9]* steps'
