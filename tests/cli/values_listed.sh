d=$DATA/fake-held.gpr
for w in "peak --by" "peak --of" "top --sort" "top --of" "diff --by" "phases --of" "frag --colour" \
	"export --format" "dump --kind" "run --stacks" "run --outside-capture" \
	"run --allocator-details"; do
	set -- $w
	list=$(gpuprof $1 $2 bogus $d 2>&1 | sed -n "
		s/.*'bogus' is not one of //p
		s/.*; only '\(.*\)' exists/\1/p")
	gpuprof $1 --help |
		tr -s "\n " " " |
		grep -qF -e "$list" -e "$2 $(echo $list | sed "s/, /|/g")" ||
		echo "$1 --help does not list $2"
	[ $1 = run ] || for v in $(echo $list | tr -d ,); do
		gpuprof $1 $2 $v $d 2>&1 | grep "bad value"
	done
	echo "$w: $(echo $list | cut -c -80)"
done
gpuprof help | grep -e -V
gpuprof version
gpuprof run --stacks=pyton true
gpuprof peak --by
