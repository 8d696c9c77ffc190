gpuprof run --help |
	sed -n 's/^ *\(-., \)*--\([a-z-]*\)\(\[=\| \)[^ ]*.*/\2/p' |
	grep -vx "only\|ring-dir\|library\|metrics" |
	while read o; do
		gpuprof run --$o=x% -- touch started 2>&1 | head -1
	done
for n in 0 65 -1 6x ""; do
	gpuprof run --stack-depth "$n" -- touch started
	echo $?
done
ls
