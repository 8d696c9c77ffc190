export LD_LIBRARY_PATH=$BUILD/fake
python3 $CLI/drive_run.py signals && gpuprof info --json s.gpr | grep -o "\"complete\": [a-z]*"
