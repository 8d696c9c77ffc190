mkdir m
cat >fill.sh <<'END'
recording=$DATA/h200_gpt_eager.gpr
mount -t tmpfs -o size=64k none m
dd if=/dev/zero of=m/fill bs=1k count=50 2>/dev/null
gpuprof verify --repair m/r.gpr $recording
echo $?
gpuprof verify --json --repair m/r.gpr $recording 2>/dev/null | grep -E 'ok|repaired'
ls m
END
unshare -rm sh fill.sh
gpuprof verify --repair no/r.gpr $DATA/h200_mlp.gpr
