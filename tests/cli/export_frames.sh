gpuprof export --format torch -o held.pickle $DATA/fake-held.gpr 2>/dev/null
python3 $CLI/print_trace.py held.pickle 4
