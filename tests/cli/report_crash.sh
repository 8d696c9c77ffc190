# a signal that ends a command costs its document alone
cp $DATA/h200_gpt_stacks.gpr job.gpr
(ulimit -f 8 && gpuprof report -o - job.gpr) | cat >page.html
python3 $CLI/../page_documents.py page.html
