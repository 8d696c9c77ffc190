# each document of each recording is byte for byte what the command prints
cd $DATA && gpuprof report -o - . >$HERE/all.html
python3 $CLI/../page_documents.py $HERE/all.html
