python3 $CLI/patch_header.py 432 "true; touch x # it's \$(id) *\x00" <$DATA/fake-training.gpr >x.gpr
gpuprof peak x.gpr | tail -n 1
