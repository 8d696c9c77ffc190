t="python3 -B $CLI/drive_terminal.py"
export GPUPROF_PAGER="sed s/^/page:/"
cp $DATA/h200_gpt_stacks.gpr a_recording_with_a_rather_long_name.gpr
for c in verify symbolize; do
	timeout 60 $t 60 24 gpuprof $c a_recording_with_a_rather_long_name.gpr \
		a_recording_with_a_rather_long_name.gpr |
		grep -v "^  " |
		cut -c 1-100
done
timeout 60 $t 40 3 gpuprof verify a_recording_with_a_rather_long_name.gpr $DATA/h200_mlp.gpr |
	grep -c ^page
timeout 60 $t 60 4 gpuprof doctor | grep -c "^page:gpuprof.*e.1;3[12]m.* checks"
gpuprof doctor --color always | grep -c "1;3[12]m.* checks"
gpuprof doctor --color never | grep -c "1;3[12]m"
timeout 60 $t 60 24 gpuprof ctl --color sometimes | sed -n 1p
