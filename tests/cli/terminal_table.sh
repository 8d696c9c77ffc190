t="python3 -B $CLI/drive_terminal.py"
export GPUPROF_PAGER=cat
mkdir -p some/long/directory
for r in h200_gpt_oom:a-rank-with-a-long-name-0 h200_gpt_eager:a-rank-with-a-long-name-1 \
	leak_hooks:a-rank-with-a-long-name-2; do
	cp $DATA/${r%:*}.gpr some/long/directory/${r#*:}.gpr
done
for c in info timeline peak frag top leaks oom; do
	$t 80 40 gpuprof $c --color never some/long/directory |
		sed "/^requested/,/^no help/d; /^  *little/d"
done
$t 40 40 gpuprof info --color never some/long/directory
$t 80 40 gpuprof frag --wide --color never some/long/directory | sed -n 2,3p
