# a file that viewers would not show whole becomes several; stdout cannot
r=$DATA/h200_gpt_graph.gpr
gpuprof export --format torch --entries 6000 -o job.pickle $r 2>&1 |
	sed 's/, [0-9.]* [KMG]iB, .*//'
ls
gpuprof export --format torch --entries 6000 $r 2>&1 >/dev/null | tail -n 2
gpuprof export --format torch --entries 0 -o all.pickle $r 2>/dev/null
ls all*
# a piece whose name is taken: no file is left
touch new-2.pickle
gpuprof export --format torch --entries 6000 -o new.pickle $r 2>&1 | tail -n 2
ls new*
