mkdir d
cat >fill.sh <<'END'
mount -t tmpfs -o size=2m none d &&
	dd if=/dev/zero of=d/fill bs=1k count=$((2048 - $1)) 2>/dev/null
GPUPROF_OUTPUT=d/x.gpr gpuprof doctor | grep -A1 -E '^[a-z]+ +recording '
ls d
END
for left in 0 8 1000; do unshare -rm sh fill.sh $left 2>/dev/null; done
