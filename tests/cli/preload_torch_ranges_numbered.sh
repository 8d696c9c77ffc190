export LD_LIBRARY_PATH=$BUILD/fake/torch-2.11/lib:$BUILD/fake
for n in 4 20; do
	gpuprof run -q --no-symbolize -o $n.gpr -- $BUILD/victims/leak_in_numbered_steps $n
done
gpuprof leaks 20.gpr | sed -n 's/^ *range/range/p'
show() { gpuprof "$@" --of allocated 20.gpr | sed -n '3,/^next/{/^next/!p}'; }
show peak --by range
show peak --by range --range 'step 18 > forward'
show peak --by range --range 'step 1[78]'
show peak --by range --range 'step #'
show top --by kind --range 'step 17' | awk '{ $5 = $6 = $7 = "-"; print }'
gpuprof peak --range 'step 20' 20.gpr
for r in '*' 'step 3' 'step 19'; do
	gpuprof diff --by range --range "$r" --of allocated 4.gpr 20.gpr |
		sed -n '/^GPU 0, a/,/^next/{/^next/!p}'
done
