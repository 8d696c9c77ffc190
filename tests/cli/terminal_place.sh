export GPUPROF_PAGER=cat
cd $DATA
python3 -B $CLI/drive_terminal.py 80 24 gpuprof peak fake-filling.gpr fake-filling-short.gpr \
	h200_calls.gpr h200_clean_compile.gpr h200_clean_serve_200.gpr h200_gpt_stacks.gpr
