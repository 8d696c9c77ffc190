export LD_LIBRARY_PATH=$BUILD/fake
python3 $CLI/drive_run.py killed && for r in k other; do
	gpuprof info --json $r.gpr | grep -o '"complete": [a-z]*'
	gpuprof dump --json --kind alloc $r.gpr | grep -c .
done
