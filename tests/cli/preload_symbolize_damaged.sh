export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --stacks native -o a.gpr -- $BUILD/victims/leak_two >/dev/null
gpuprof info a.gpr >whole
head -c -20 a.gpr >d.gpr
mv d.gpr a.gpr
gpuprof verify a.gpr 2>&1 | mask numbers sizes
gpuprof info a.gpr 2>&1 >damaged | mask numbers sizes
diff whole damaged | grep "^[<>]" | cut -c 1-12
gpuprof top --json a.gpr >/dev/null 2>&1
echo $?
gpuprof verify --repair r.gpr a.gpr >/dev/null 2>&1
gpuprof verify r.gpr | tail -n 1 | mask numbers sizes
gpuprof info r.gpr | grep -c ^names
gpuprof symbolize a.gpr 2>&1 >out | mask numbers sizes
head -n 1 out | sed "s/, .*//" | mask numbers sizes
grep -v ^file whole >before # the old names stay as lost space
gpuprof info a.gpr | grep -v ^file | cmp - before
gpuprof verify --repair s.gpr a.gpr >/dev/null
gpuprof info s.gpr | grep -c ^names
