head -c -96 $DATA/fake-training.gpr >cut.gpr
cp cut.gpr before
python3 $CLI/patch_header.py 10 "\xff\0" <$DATA/fake-training.gpr >newer.gpr
for f in none.gpr $DATA/../README.md cut.gpr newer.gpr; do
	gpuprof symbolize $f
	gpuprof symbolize $f >/dev/null 2>&1
	echo $?
done
cmp cut.gpr before
gpuprof symbolize
