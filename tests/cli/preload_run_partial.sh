cat >job.sh <<'END'
$BUILD/victims/training_loop 20 200 >/dev/null &
job=$!
until gpuprof ctl $job start >/dev/null 2>ctl.err; do
	kill -0 $job || exit
done
wait $job
END
export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run --start=off -o s.gpr -- sh job.sh 2>&1 | sed -n "s,[0-9][0-9.]*,N,g; 2,3p"
