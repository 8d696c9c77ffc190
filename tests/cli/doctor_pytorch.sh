mkdir torch
echo "raise SystemExit(9)" >torch/__init__.py
echo "__version__ = \"2.11.0+cu130\"" >torch/version.py
PYTHONPATH=$PWD gpuprof doctor 2>/dev/null | grep -E "^[a-z]+ +pytorch " | sed "s:/.*/:/:"
