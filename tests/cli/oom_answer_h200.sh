cd $DATA
gpuprof oom h200_gpt_oom.gpr
gpuprof oom h200_oom_kinds.gpr
for n in 4 6 7 10 11 14 15 18 22 24 26; do
	gpuprof oom --number $n h200_oom_kinds.gpr >$OLDPWD/o
	sed -n "2,\$p" $OLDPWD/o | grep -v "^next:"
	[ $(wc -l <$OLDPWD/o) -le 10 ] || echo "too long"
done
