# a signal that ends a command costs its document alone; a page beyond the limit leaves no file
cp $DATA/h200_gpt_stacks.gpr job.gpr
(ulimit -f 8 && gpuprof report -o - job.gpr) | cat >page.html
python3 $CLI/../page_documents.py page.html
(
	ulimit -f 80
	gpuprof report -o none.html job.gpr
	echo $?
) 2>&1 | grep -E 'cannot|^[0-9]'
ls *.html
gpuprof report -o /dev/full job.gpr
echo $?
