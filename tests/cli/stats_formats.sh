$BUILD/frag/made_gpu_time made.gpr
python3 -B $CLI/stats_formats.py made.gpr
python3 -B $CLI/stats_recount.py made.gpr
