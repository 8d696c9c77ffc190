export LD_LIBRARY_PATH=$BUILD/fake
t="python3 -B $CLI/drive_terminal.py 100 50"
gpuprof run -q --light --ring 0 -o big.gpr -- $BUILD/victims/training_loop 800 2 >/dev/null
$t gpuprof leaks big.gpr big.gpr big.gpr big.gpr | tr "\r" "\n" >shown
grep -c "^.e.Kreading big.gpr: [1-4] of 4, [0-9]*% (pass [0-9]*)$" shown |
	sed "s/^[1-9][0-9]*$/some/"
sed "1,/reading/d" shown | sed -n "/^.e.K[^r]/,\$p" | sed "s/^.e.K//" | grep -c reading
for s in "env TERM=dumb" "sh -c 'exec 2>/dev/null; exec \"\$@\"' sh"; do
	eval "$t $s gpuprof leaks big.gpr big.gpr" | grep -c reading
done
