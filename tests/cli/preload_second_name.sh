export LD_LIBRARY_PATH=$BUILD/fake V=$BUILD/victims
j() {
	LD_PRELOAD=$PRELOAD GPUPROF_OUTPUT=x.gpr "$@" 2>err
	echo "status $?, $(ls x*.gpr | wc -l) files"
	cat err
}
j $V/training_loop 200
j $V/training_loop 200
gpuprof info x.2.gpr | grep -o "training_loop 200"
j sh -c '$V/training_loop 200; $V/training_loop 200' | grep -v steps
j $V/fork_storm 4 | sed 's/, [0-9]* files//'
j python3 -c '
import os, subprocess

print(subprocess.run([os.environ["V"] + "/training_loop", "200"], capture_output=True).stderr)
'
j sh -c 'exec $V/training_loop 20 2>&-'
gpuprof run -q -o x-%r.gpr -- $V/training_loop 20
gpuprof run -q -o x-%r.gpr -- $V/training_loop 20
