export LD_LIBRARY_PATH=$BUILD/fake
v=$BUILD/victims/leak_two
gpuprof run -q --stacks native -o a.gpr -- $v
gpuprof info a.gpr | grep ^names | mask numbers sizes
gpuprof run -q --no-symbolize --stacks native -o b.gpr -- $v
gpuprof info b.gpr | grep -c ^names
gpuprof run -v --stacks native -o c.gpr -- $v 2>&1 | grep "stored\|next" | mask numbers sizes
gpuprof run --stacks native -o d.gpr -- $v 2>&1 | grep -c gpuprof
gpuprof run -v -o e.gpr -- $v 2>&1 | grep -c stored
GPUPROF_OUTPUT=f.gpr gpuprof run -q --stacks native -- sh -c "$v; kill -SEGV \$\$"
echo $?
gpuprof info f.gpr | grep ^names | mask numbers sizes
gpuprof verify f.gpr | grep -v events | mask numbers sizes
