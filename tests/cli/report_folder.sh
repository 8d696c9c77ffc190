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
for other in other .other; do
	touch "a b#%_data/$other"
	gpuprof report --force -o 'a b#%.html' "$@"
	rm "a b#%_data/$other"
done
# all blocks of the page before go, even with a gap; with a page that has no folder as well
rm 'a b#%_data/1.js'
gpuprof report --force -o 'a b#%.html' "$@"
ls | cat
mkdir small_data other_data && mv 'a b#%_data/3.js' small_data && touch other_data/mine
rm 'a b#%.html' 'a b#%_data'/*
for page in small other 'a b#%'; do
	gpuprof report --force -o "$page.html" $DATA/fake-killed.gpr
done
ls | cat
gpuprof report -o - "$@" >one.html
python3 $CLI/../page_documents.py one.html running | uniq -c
