export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -o x.gpr -- $BUILD/victims/leak_two 2>lines >/dev/null
n=$(sed -n "1s/.*recorded \([0-9,]* events\) in.*/\1/p" lines)
gpuprof info x.gpr | head -n 1 | grep -c "s, $n, "
echo "$n"
