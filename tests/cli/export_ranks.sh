# -o DIR/: a file for each recording, with the names of torchtitan
mask() { sed 's/, [0-9.]* [KMG]iB, .*//' | grep -v 'hint: memory_viz\|without allocator details'; }
gpuprof export --format torch -o out/ $DATA/ranks/rank-1.gpr $DATA/ranks/rank-0.gpr 2>&1 | mask
gpuprof export --format torch -o one/ $DATA/h200_ddp.gpr 2>&1 | mask
find one out -type f | sort
# names that are taken; a recording that is missing
gpuprof export --format torch -o one/ $DATA/h200_ddp.gpr none.gpr 2>&1 | mask
gpuprof export --format torch -o x.pickle $DATA/ranks/rank-0.gpr $DATA/ranks/rank-1.gpr 2>&1 |
	head -n 1
