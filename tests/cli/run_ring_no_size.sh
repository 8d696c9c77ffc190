for s in 12Q -1 4MiBs 99999999999T 5 1048575; do
	gpuprof run --ring $s true
	echo $?
done
