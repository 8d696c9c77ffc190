# no name and no text of a recording ends a script of the page or changes its title
python3 $CLI/patch_header.py 432 '</script><!--<b>&"\xe2\x80\xa8\xff\x1b[31m]]>\0' \
	<$DATA/fake-training.gpr >-force.gpr
mkdir '<script>'
name=$(printf '<script>/title>"'"'"'\\\342\200\250\377.gpr')
cp ./-force.gpr "$name"
gpuprof report -o page.html '<script>' -- -force.gpr
python3 $CLI/../page_documents.py page.html | tr '\377' '?'
grep -a '<title' page.html
