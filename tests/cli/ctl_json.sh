gpuprof ctl --json | python3 -c "import json, sys; print(type(json.load(sys.stdin)).__name__)"
