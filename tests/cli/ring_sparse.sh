n=gpuprof-ring-$(id -u)-14085-1
python3 $CLI/patch_header.py 176 "./$n\\x00" <$DATA/fake-training.gpr >x.gpr
python3 $CLI/sparse_ring.py $n 14085 $(head -c 108 x.gpr | tail -c 36) 200000000000
(
	ulimit -t 10
	gpuprof info x.gpr
) | grep -c ^events
ls -s $n | cut -d" " -f1
