cp -r $DATA/../stacks a
cp -r a c
sed -i "1a # a comment" c/hold.py
sed -i "s/range(6)/range(9)/" c/hold.py
export LD_LIBRARY_PATH=$BUILD/fake
for d in a c; do
	gpuprof run -q --stacks=all -o $d.gpr -- python3 -B $d/hold.py $d.json 3
done
gpuprof check --baseline b.json --update a.gpr | tail -n 1
gpuprof check --baseline b.json a.gpr >out
echo $?
gpuprof check --baseline b.json c.gpr | mask classes | tail -n +3
gpuprof check --baseline b.json c.gpr >out
echo $?
