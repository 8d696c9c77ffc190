# one page; without -o its name is the recording's, and it never replaces a file
cp $DATA/h200_gpt_stacks.gpr job.gpr
gpuprof report job.gpr
python3 $CLI/../page_documents.py job.html
cp job.html before
gpuprof report job.gpr
gpuprof report -o job.gpr --force job.gpr
cmp job.html before
gpuprof report --force job.gpr
gpuprof report -o - job.gpr | cmp - job.html
gpuprof report job.gpr job.gpr
gpuprof report - <job.gpr
gpuprof report --force -o /dev/full job.gpr
ls
