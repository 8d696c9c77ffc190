#!/usr/bin/env bash
# Installs what is missing on Debian and Ubuntu: what the build and the tests need, then what lint
# and bench would like. Asks the machine first, so it needs no network and no rights when nothing is
# missing. What it cannot install it names: a missing need ends it with 1, a missing wish does not.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=${CC:-gcc}

# a header and, if given, a library to link with it
compiles() {
	local header=$1 object
	shift
	object=$(mktemp)
	printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "$header" |
		sed '$ a int main(void) { return 0; }' |
		"$compiler" -x c -o "$object" - "$@" >/dev/null 2>&1
	local status=$?
	rm -f "$object"
	return "$status"
}
has_static_zstd() { compiles zstd.h -l:libzstd.a; }
has_unwind() { [ -e "$("$compiler" -print-file-name=libunwind.so.8)" ]; }
has_clang_format() {
	command -v clang-format-14 >/dev/null ||
		{ command -v clang-format >/dev/null && clang-format --version |
		grep -q 'version 14\.'; }
}
have() { command -v "$1" >/dev/null; }

needs=() wishes=()
need() { "${@:2}" || needs+=("$1"); }
wish() { "${@:2}" || wishes+=("$1"); }

need make have make
need gcc have "$compiler"
need libc6-dev compiles stdio.h
need binutils have readelf
need python3 have python3
need libzstd-dev has_static_zstd
need libunwind8 has_unwind
need libdw-dev compiles elfutils/libdwfl.h -ldw -lelf
need libiberty-dev compiles libiberty/demangle.h -l:libiberty.a
need libcmocka-dev compiles cmocka.h -lcmocka
wish git have git
wish g++ have g++
wish xz-utils have xz
wish clang-format-14 has_clang_format
wish shellcheck have shellcheck
wish valgrind have valgrind
wish liblttng-ust-dev compiles lttng/tracepoint.h -llttng-ust -ldl
wish lttng-tools have lttng

if [ "${#needs[@]}" = 0 ] && [ "${#wishes[@]}" = 0 ]; then
	echo 'deps: nothing is missing'
	exit 0
fi
[ "${#needs[@]}" = 0 ] || echo "deps: missing: ${needs[*]}"
[ "${#wishes[@]}" = 0 ] ||
	echo "deps: missing, not needed by make demo and make check: ${wishes[*]}"

if ! have apt-get; then
	echo 'deps: no apt-get here: install the packages that bear these names on this system' >&2
	[ "${#needs[@]}" = 0 ]
	exit
fi
if [ "$(id -u)" != 0 ]; then
	echo 'deps: not root, run:' >&2
	echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends" \
		"${needs[*]} ${wishes[*]}" >&2
	[ "${#needs[@]}" = 0 ]
	exit
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q || echo 'deps: apt-get update failed, trying with the lists at hand' >&2
failed=()
for package in "${needs[@]}"; do
	apt-get install -y -q --no-install-recommends "$package" || failed+=("$package")
done
for package in "${wishes[@]}"; do
	apt-get install -y -q --no-install-recommends "$package" ||
		echo "deps: cannot install $package: done without it" >&2
done
if [ "${#failed[@]}" != 0 ]; then
	echo "deps: cannot install ${failed[*]}" >&2
	echo "hint: install them by hand, then run make deps again" >&2
	exit 1
fi
echo 'deps: done'
