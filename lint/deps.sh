#!/usr/bin/env bash
# Installs the missing packages on Debian and Ubuntu: first those that the build and the tests need,
# then those that lint and bench use. The script looks at the machine first: it needs no network and
# no rights when no package is missing. As a user it installs through sudo. It prints the packages
# that it cannot install. It ends with 1 when a needed package is missing at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
read -r -a compiler <<<"${CC:-gcc}"

# a header and, if given, a library to link with it
compiles() {
	local header=$1 object
	shift
	object=$(mktemp)
	printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "$header" |
		sed '$ a int main(void) { return 0; }' |
		"${compiler[@]}" -x c -o "$object" - "$@" >/dev/null 2>&1
	local status=$?
	rm -f "$object"
	return "$status"
}
has_static_zstd() { compiles zstd.h -l:libzstd.a; }
has_unwind() { [ -e "$("${compiler[@]}" -print-file-name=libunwind.so.8 2>/dev/null)" ]; }
has_clang_format() {
	command -v clang-format-14 >/dev/null ||
		{ command -v clang-format >/dev/null && clang-format --version |
		grep -q 'version 14\.'; }
}
have() { command -v "$1" >/dev/null; }
has_library() { PATH=$PATH:/sbin ldconfig -p | grep -F "$1" >/dev/null; }

# look: fills needs and wishes with the packages that are missing now
look() {
	needs=() wishes=()
	need make have make
	need gcc have "${compiler[0]}"
	need libc6-dev compiles stdio.h
	need binutils have readelf
	need python3 have python3
	need libzstd-dev has_static_zstd
	need libunwind8 has_unwind
	need libdw-dev compiles elfutils/libdw.h -ldw -lelf
	need liblzma-dev compiles lzma.h -llzma
	need zlib1g-dev compiles zlib.h -lz
	need libiberty-dev compiles libiberty/demangle.h -l:libiberty.a
	need libsqlite3-dev compiles sqlite3.h -lsqlite3
	need libcmocka-dev compiles cmocka.h -lcmocka
	wish git have git
	wish g++ have g++
	wish xz-utils have xz
	wish clang-format-14 has_clang_format
	wish shellcheck have shellcheck
	wish valgrind have valgrind
	wish gdb have gdb
	wish strace have strace
	wish libjemalloc2 has_library libjemalloc.so.2
	wish libtcmalloc-minimal4 has_library libtcmalloc_minimal.so.4
	wish liblttng-ust-dev compiles lttng/tracepoint.h -llttng-ust -ldl
	wish lttng-tools have lttng
	wish go-md2man have go-md2man
	wish pkg-config have pkg-config
}
need() { "${@:2}" || needs+=("$1"); }
wish() { "${@:2}" || wishes+=("$1"); }

# has_terminal: a password can be typed here
has_terminal() { (: </dev/tty) 2>/dev/null; }
# can_sudo: without a password, or with one for a package that is needed
can_sudo() {
	have sudo || return 1
	sudo -n true 2>/dev/null || { [ "${#needs[@]}" != 0 ] && has_terminal && sudo -v; }
}
# as_root COMMAND...
as_root() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive "$@"; }
# a new machine may be updating itself: wait for its lock
install() {
	as_root apt-get install -y -q -o DPkg::Lock::Timeout=300 --no-install-recommends "$@"
}

look
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
root=()
if [ "$(id -u)" != 0 ]; then
	root=(sudo)
	if ! can_sudo; then
		echo 'deps: not root, and sudo does not work here; run as root:' >&2
		echo "  apt-get update && apt-get install -y --no-install-recommends" \
			"${needs[*]} ${wishes[*]}" >&2
		[ "${#needs[@]}" = 0 ]
		exit
	fi
fi

as_root apt-get update -q || echo 'deps: apt-get update failed, trying with the lists at hand' >&2
# all at once is quicker; one by one finds the packages that can be had
if ! install "${needs[@]}" "${wishes[@]}"; then
	for package in "${needs[@]}" "${wishes[@]}"; do
		install "$package" || echo "deps: cannot install $package" >&2
	done
fi
look
if [ "${#needs[@]}" != 0 ]; then
	echo "deps: still missing: ${needs[*]}" >&2
	echo 'hint: install them by hand, then run make deps again' >&2
	exit 1
fi
[ "${#wishes[@]}" = 0 ] || echo "deps: done without ${wishes[*]}" >&2
echo 'deps: done'
