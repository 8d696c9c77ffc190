# -o DIR/: csv writes a file for each table, the same as with --select; chrome one for each rank
mask() { sed 's/, [0-9.]* [KMG]iB, .*//' | grep -v 'no times of the GPU'; }
set -- $DATA/ranks/rank-0.gpr $DATA/fake-ranges.gpr
gpuprof export --format csv -o a/b/ "$@" 2>&1 | mask
echo $(ls -A a/b)
for table in $(ls a/b); do
	gpuprof export --format csv --select ${table%.csv} "$@" 2>&1 | cmp - a/b/$table
done
# a name that is taken; too many options
rm a/b/[ce-z]*
gpuprof export --format csv -o a/b/ "$@"
ls -A a/b
gpuprof export --format csv -o c/ --select events "$@"
gpuprof export --format chrome -o c/ "$@" 2>&1 | mask
grep -o '"distributedInfo": {[^}]*}' c/*
gpuprof export --format chrome -o c.json "$@" 2>&1 | tail -n 1
