python3 $CLI/patch_header.py 8 "\x02\0" <$DATA/fake-training.gpr >newer
for c in info dump timeline verify; do
	gpuprof $c newer
	echo $?
done
