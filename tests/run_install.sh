#!/bin/bash
# The files of `make install`, and those that a wheel installs, must work in another place, and
# `make uninstall` must remove all of them.
#   run_install.sh BUILD
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/install
results=${RESULTS:-$dir/results}
tree=$dir/tree
failed=0

# `say STATUS NAME [WHY]`
say() {
	status=pass
	[ "$1" = 0 ] || status=fail failed=1
	[ "$1" = 0 ] || echo "fail install/$2: ${*:3}"
	echo "$status install/$2 ${*:3}" | head -n 1 >>"$results"
}
skip() { echo "skip install/$1 $2" >>"$results"; }
make_target() { env -u MAKEFLAGS make -s -o all -C "$here/.." BUILD="$build" PREFIX="$tree" "$1"; }

if grep -q __asan_init "$build/libgpuprof.so"; then
	skip all "the library holds a sanitizer"
	exit 0
fi
rm -rf "$dir"
mkdir -p "$dir"
make_target install >"$dir/install.out" 2>&1
say $? copies "$(tail -n 3 "$dir/install.out")"

export LC_ALL=C.UTF-8 PATH="$tree/bin:$PATH"
cd "$dir" || exit 2
LD_LIBRARY_PATH=$build/fake gpuprof run -q -o x.gpr -- "$build/victims/leak_two" >run.out 2>&1
gpuprof dump --json --native --kind alloc x.gpr | grep -q '"function": "main"'
say $? records "$(cat run.out)"

# a client program, with the flags that pkg-config gives
if command -v pkg-config >/dev/null; then
	export PKG_CONFIG_PATH=$tree/lib/pkgconfig
	# shellcheck disable=SC2046
	${CC:-cc} -std=c17 -Wall -Wextra -Werror -o print_peak "$here/install/print_peak.c" \
		$(pkg-config --cflags --libs gpuprof) >cc.out 2>&1 &&
		LD_LIBRARY_PATH=$tree/lib ./print_peak x.gpr >peak.out 2>&1
	peak=$(gpuprof peak --json x.gpr | grep -o '"peak_bytes": [0-9]*' | head -n 1)
	[ "\"peak_bytes\": $(cat peak.out)" = "$peak" ]
	say $? reading_library "$(cat cc.out peak.out) $peak"
else
	skip reading_library "no pkg-config"
fi
# read_peak PYTHON: the same by the Python module
read_peak() {
	PYTHONDONTWRITEBYTECODE=1 "$1" -c 'import gpuprof
print(gpuprof.open("x.gpr").peaks()[0].peak_bytes)' 2>&1
}
if python3 -c 'import ctypes' 2>/dev/null; then
	peak=$(gpuprof peak --json x.gpr | grep -o '"peak_bytes": [0-9]*' | head -n 1)
	read=$(PYTHONPATH=$tree/lib/python3/dist-packages read_peak python3)
	[ "\"peak_bytes\": $read" = "$peak" ]
	say $? python "$read $peak"
else
	skip python "no Python with ctypes"
fi
exported=$(nm -D --defined-only "$tree/lib/libgpuprof-read.so" | grep -v ' gp_')
[ -z "$exported" ]
say $? exports "$exported"

if [ -d "$tree/share/man/man1" ]; then
	for page in "$here"/../docs/man/*.1.md; do
		name=$(basename "$page" .1.md)
		head -n 3 "$tree/share/man/man1/$name.1" | grep -qi "^.TH \"*$name\"* \"*1" ||
			echo "$name"
	done >man.out 2>&1
	[ ! -s man.out ]
	say $? manual "no title: $(cat man.out)"
else
	skip manual "$(grep -o 'go-md2man is missing' install.out)"
fi

# complete LINE WORD: compares with the completion of bash
complete_line() {
	bash -c '. "$1"; COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gpuprof
		echo "${COMPREPLY[@]}"' - "$tree/share/bash-completion/completions/gpuprof" "$1"
}
[ "$(complete_line 'gpuprof lea')" = leaks ] &&
	[ "$(complete_line 'gpuprof help lea')" = leaks ] &&
	[ "$(complete_line 'gpuprof peak --tr')" = --tree ] &&
	[ "$(complete_line 'gpuprof run --allocator-d')" = --allocator-details ]
say $? completion "$(complete_line 'gpuprof lea') $(complete_line 'gpuprof peak --tr')"

# the wheel, as pip installs it
if ! command -v dpkg >/dev/null || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
	skip wheel "no Python with pip, or no dpkg"
else
	make_target wheel >wheel.out 2>&1 && python3 -m venv venv >>wheel.out 2>&1 &&
		venv/bin/python3 -m pip install -q --disable-pip-version-check --no-index \
			"$build"/wheel/*.whl >>wheel.out 2>&1 && (
		PATH=$dir/venv/bin:$PATH
		[ "$(command -v gpuprof)" = "$dir/venv/bin/gpuprof" ] &&
			LD_LIBRARY_PATH=$build/fake gpuprof run -q -o wheel.gpr -- \
				"$build/victims/leak_two" >>wheel.out 2>&1 &&
			[ "$(read_peak venv/bin/python3)" = "$read" ] &&
			gpuprof dump --json --native --kind alloc wheel.gpr |
			grep -q '"function": "main"' &&
			! ldd venv/bin/gpuprof | grep -E 'lib(dw|elf|lzma|z|bz2)\.' |
			grep -v "$dir/venv/"
	)
	say $? wheel "$(tail -n 3 wheel.out)"
	venv/bin/python3 -m pip uninstall -q -y gpuprof >>wheel.out 2>&1 &&
		[ -z "$(find venv -name '*gpuprof*')" ]
	say $? wheel_uninstall "$(tail -n 3 wheel.out)"
fi

make_target uninstall >"$dir/uninstall.out" 2>&1
left=$(find "$tree" -type f -o -type l)
[ -z "$left" ]
say $? uninstall "$left"
exit $failed
