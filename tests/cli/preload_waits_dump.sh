# copies and waits in dump, as text and as JSON; preload_waits has their lines
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q -o r.gpr -- python3 -B $CLI/wait_job.py
gpuprof dump --kind copy,wait --limit 10 r.gpr | grep " gpu0 " | mask took | sed -E '
	s/^.* gpu0 +//; s/0x[0-9a-f]{2,}/ADDRESS/g; s/ \(.*KiB\)//'
gpuprof dump --json --kind copy,wait --limit 6 r.gpr | mask json_times | sed -E '
	s/.*("call": )/\1/; s/"0x[0-9a-f]{2,}"/ADDRESS/g; s/ ("took)/\n\1/'
# allocations have the duration of their call, also without launches
gpuprof dump --kind alloc --limit 2 r.gpr | grep -o "alloc .*" | mask took |
	sed "s/ address.*=0x[0-9a-f]*//"
gpuprof dump --json --kind alloc --limit 1 r.gpr | mask json_times | grep -o '"took.*'
# copies and waits are not recorded without launches
gpuprof run -q --launches off -o off.gpr -- python3 -B $CLI/wait_job.py
gpuprof dump --kind copy,wait off.gpr | sed 1q | mask times numbers
gpuprof dump --kind alloc --limit 1 off.gpr | grep -o "took=.*" | mask took
gpuprof waits off.gpr | mask times numbers
