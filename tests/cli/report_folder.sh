# data that would make a page too large is in a folder beside it
set -- $DATA/fake-killed.gpr $DATA/fake-killed.gpr $DATA/fake-killed.gpr $DATA/fake-killed.gpr
set -- "$@" "$@" "$@" "$@"
gpuprof report -o 'a b#%.html' "$@"
python3 $CLI/../page_documents.py 'a b#%.html' running | uniq -c
ls | cat
rm 'a b#%.html'
gpuprof report -o 'a b#%.html' "$@"
gpuprof report --force -o 'a b#%.html' "$@"
ls | cat
touch 'a b#%_data/other'
gpuprof report --force -o 'a b#%.html' "$@"
ls | cat
gpuprof report -o - "$@" >one.html
python3 $CLI/../page_documents.py one.html running | uniq -c
