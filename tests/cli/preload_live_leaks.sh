LD_LIBRARY_PATH=$BUILD/fake LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=$PWD/live.gpr GPUPROF_RING_DIR=$PWD \
	python3 $CLI/captured_loop.py steady &
job=$!
until gpuprof leaks --exit-code live.gpr >out 2>/dev/null; do
	kill -0 $job || exit
done
grep -o "job is running\|No leak found" out
until gpuprof check --max-growth 0 live.gpr >out; do kill -0 $job || exit; done
grep -o "^pass" out
gpuprof check --max-peak 4GiB live.gpr | grep -o "^NOT JUDGED\|the job is running: the .*"
kill -9 $job
wait $job 2>/dev/null
gpuprof leaks --exit-code live.gpr >out
echo $?
grep -o "No verdict.*\|No leak found" out
