for o in "--delay=x" "--duration=0" "--capture-range=train" "--capture-range=nvtx:" \
	"--capture-range=step:3-2" "--delay=5 -c cudaProfilerApi" "--capture-range-end=repeat" \
	"-c ctl --capture-range-end=stop" "-c step:2 --capture-range-end=repeat" \
	"-c cudaProfilerApi --capture-range-end=stop-shutdown" "--start=off -y 5" \
	"-c step:2-3 --torch-ranges=off" "--outside-capture=all" "-c nvtx" "-c cudaprofilerapi" \
	"-c nvtx:a --nvtx=off --torch-ranges=off" "-d 2 --capture-range-end=repeat:2"; do
	gpuprof run $o -- touch started
	echo $?
done
GPUPROF_DELAY=soon gpuprof run -- touch started
echo $?
gpuprof run -q -y 0 -d 1.5 -- echo ran
echo $?
ls
