#!/bin/sh
# A shell that starts many programs, preloaded, on a machine without a driver: no file, no output,
# no failure.
#   run_shell.sh BUILD
build=$(cd "$1" && pwd) || exit 2
dir=$build/run/shell
results=${RESULTS:-$dir/results}
rm -rf "$dir"
mkdir -p "$dir/empty"
cat >"$dir/script" <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do
	echo $i | cat | tr 1-9 a-i | sort | uniq -c
	(exit 3) || echo "status $?"
	ls . | wc -l
	sh -c 'kill -TERM $$' 2>/dev/null; echo "status $?"
	env true && sleep 0 && expr 1 + 1
done
END
(cd "$dir/empty" && sh "$dir/script" >"$dir/bare.out" 2>"$dir/bare.err")
(cd "$dir/empty" && LD_LIBRARY_PATH= LD_PRELOAD="$build/libgpuprof.so" sh "$dir/script" \
	>"$dir/recorded.out" 2>"$dir/recorded.err")
(cd "$dir/empty" && GPUPROF=off LD_LIBRARY_PATH= LD_PRELOAD="$build/libgpuprof.so" sh \
	"$dir/script" >"$dir/off.out" 2>"$dir/off.err")
if cmp "$dir/bare.out" "$dir/recorded.out" && cmp "$dir/bare.err" "$dir/recorded.err" &&
	cmp "$dir/bare.out" "$dir/off.out" &&
	cmp "$dir/bare.err" "$dir/off.err" && [ -z "$(ls "$dir/empty")" ]; then
	echo "pass shell/many_programs" >>"$results"
else
	echo "fail shell/many_programs (see $dir)" >>"$results"
	exit 1
fi
