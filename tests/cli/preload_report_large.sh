# a report of more than 16 MiB is left out, with its reason
LD_LIBRARY_PATH=$BUILD/fake gpuprof run -q -o many.gpr -- $BUILD/victims/million_live 200000
gpuprof report many.gpr
python3 $CLI/../page_documents.py many.html
