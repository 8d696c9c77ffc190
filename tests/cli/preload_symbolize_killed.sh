export LD_LIBRARY_PATH=$BUILD/fake
gpuprof run -q --no-symbolize --stacks native -o bare.gpr -- $BUILD/victims/leak_two >/dev/null
cp bare.gpr a.gpr
gpuprof dump a.gpr >shown
gpuprof symbolize a.gpr >/dev/null
head -c -20 a.gpr >broken.gpr
for from in bare broken; do
	for moment in before half after; do
		for at in 1 2 3 4 5; do
			cp $from.gpr a.gpr
			LD_PRELOAD=$BUILD/fake/kill_at_write.so KILL_AT=$at KILL_MOMENT=$moment \
				gpuprof symbolize a.gpr >/dev/null 2>&1
			echo $?
			gpuprof dump a.gpr 2>/dev/null | cmp - shown
			test $from = broken ||
				gpuprof verify a.gpr | grep -o "nothing damaged; complete"
			gpuprof symbolize a.gpr >/dev/null 2>&1 || echo not named
			gpuprof info a.gpr | grep -o "^names .*stored" | mask numbers
			gpuprof verify a.gpr >/dev/null || echo not whole
		done
	done
done | sort | uniq -c
