mkdir m
unshare -rm sh -c "
	mount -t tmpfs -o size=16k none m
	cat $DATA/h200_gpt_oom.gpr | TMPDIR=m gpuprof info - 2>&1
	echo \$?
	ls -A m"
