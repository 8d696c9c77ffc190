python3 $CLI/patch_header.py 1456 "\x01" <$DATA/fake-training.gpr |
	python3 $CLI/patch_header.py 1496 "\x02" >hole.gpr
gpuprof info hole.gpr | head -n 1
gpuprof timeline hole.gpr | grep peak
gpuprof timeline --json hole.gpr | grep -E "peaks_since|complete"
gpuprof timeline --svg hole.gpr | grep -oE ">[^<]*peak[^<]*"
gpuprof timeline hole.gpr $DATA/fake-training.gpr
