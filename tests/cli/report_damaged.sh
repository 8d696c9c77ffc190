# torn, damaged and overwritten recordings, one that is not a recording, and none
head -c 20000 $DATA/fake-training.gpr >torn.gpr
{
	head -c 20000 $DATA/fake-training.gpr
	printf XXXX
	tail -c +20005 $DATA/fake-training.gpr
} >bad.gpr
: >empty.gpr
gpuprof report -o page.html torn.gpr empty.gpr missing.gpr bad.gpr $DATA/fake-killed.gpr
echo $?
python3 $CLI/../page_documents.py page.html
gpuprof report empty.gpr
echo $?
ls *.html
