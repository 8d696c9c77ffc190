# lanes of GPU time: their sums are those of kernels; without GPU time the page has none
for mode in frees nccl lost; do
	$BUILD/frag/made_gpu_time made.gpr $mode
	gpuprof report -o $mode.html made.gpr
	python3 $CLI/../page_documents.py $mode.html
done
$BUILD/frag/made_gpu_time made.gpr none
gpuprof report -o none.html made.gpr
python3 $CLI/../page_documents.py none.html
