for c in $(cd $DATA/../../tools && ls cmd_*.c | sed "s/cmd_//; s/\.c//"); do
	gpuprof $c --help | sed -nE "s/^ {2,6}(-., )?(--[a-z-]+).*/\2/p" | sort -u >helped
	sed -n "/^## OPTIONS/,/^## [^O]/s/^\`-/-/p" $DATA/../../docs/man/gpuprof-$c.1.md |
		grep -oE -- "--[a-z-]+" |
		sort -u >paged
	cmp helped paged && test -s helped && echo $c
done
gpuprof info --help |
	sed -n "s/^  on a terminal *//p" |
	grep -oE -- "--[a-z-]+" |
	while read -r o; do
		grep -c "^\`$o" $DATA/../../docs/man/gpuprof.1.md
	done
