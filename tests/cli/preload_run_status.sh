export LD_LIBRARY_PATH=$BUILD/fake
for c in "exit 0" "exit 3" "exit 255"; do
	gpuprof run -q -- sh -c "$c"
	echo "$c: $?"
done
gpuprof run -- ./missing
echo $?
touch plain
gpuprof run -- ./plain
echo $?
gpuprof run -- ./plain/x
echo $?
gpuprof run
echo $?
gpuprof run -q -o r.gpr -- sh -c "$BUILD/victims/leak_two; exit 9"
echo $?
ls -A
