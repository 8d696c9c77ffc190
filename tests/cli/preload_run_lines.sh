export LD_LIBRARY_PATH=$BUILD/fake
v=$BUILD/victims
gpuprof run --keep 1 -o a-%p.gpr \
	-- sh -c "$v/oom_caught; $v/lie_once; $v/two_gpus; $v/leak_two" >/dev/null 2>&1
gpuprof run --keep 1 -o a-%p.gpr \
	-- sh -c \
	"$v/oom_caught; $v/lie_once; GPUPROF_OUTPUT=no/x $v/leak_two 2>/dev/null" 2>lines >/dev/null
sed "s/[0-9][0-9]*/N/g; s/N[.]N/N/g; s/([^)]*)/(SIZE)/; s/N OOMs*/OFTEN/" lines |
	sed "s/'a-N.gpr', .*: --keep/NAMES: --keep/"
grep -c . lines
gpuprof run -q --keep 1 -o a-%p.gpr -- $v/leak_two
gpuprof run -q -o no/x -- $v/leak_two
