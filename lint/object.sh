#!/usr/bin/env bash
# The effects of the preload objects on the job: exports, needed libraries, symbol versions, size of
# their TLS, and imports that could end the job or print into it. Takes the objects from $BUILD
# (default: build).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build}
glibc_most=2.28
tls_most=512

exports() { awk '$7 ~ /^[0-9]+$/ && $5 != "LOCAL" { sub(/@.*/, "", $8); print $8 }' <<<"$symbols"; }
imports() { awk '$7 == "UND" && $8 != "" { sub(/@.*/, "", $8); print $8 }' <<<"$symbols"; }

# read_object FILE: sets the variables that the checks use
read_object() {
	object=$1
	if [ ! -f "$object" ]; then
		echo "$object:1: missing, expected: built by make"
		exit 1
	fi
	symbols=$(readelf -W --dyn-syms "$object")
	dynamic=$(readelf -W -d "$object")
}

exports_of_libgpuprof() {
	torch='_ZN3c1027report(MemoryUsage|OutOfMemory)ToProfilerE.*'
	torch="$torch|_ZN5torch8autograd6Engine7executeE.*"
	ours='InitializeInjection.*|gpuprof_(gpu_time|counters)_attach'
	exports | grep -vE "^(dlsym|cu[A-Z][A-Za-z0-9_]*|$torch|$ours)\$" |
		sed "s#^#$object:1: exports #; s#\$#, expected: dlsym, cu*, c10, ours#" ||
		true
	for name in dlsym cuGetProcAddress cuGetProcAddress_v2 cuMemAlloc_v2 cuLaunchKernel; do
		grep -qx "$name" <<<"$(exports)" ||
			echo "$object:1: does not export $name, expected: every entry point"
	done

	# each row is an export and each driver export is a row
	table=interpose/driver/cuda_api.def
	if [ -f $table ]; then
		rows=$(sed -nE 's/^CUDA\(([A-Za-z0-9_]+),.*/\1/p' $table \
			interpose/driver/cuda_copies.def | sort -u)
		LC_ALL=C comm -23 <(LC_ALL=C sort <<<"$rows") <(exports | LC_ALL=C sort -u) |
			sed "s#^#$table:1: row #; s#\$# is not exported, expected: every row is#"
		LC_ALL=C comm -13 <(LC_ALL=C sort <<<"$rows") <(exports | grep '^cu' |
			LC_ALL=C sort -u) |
			grep -vE '^cuGetProcAddress(_v2)?$' |
			sed "s#^#$table:1: #; s#\$# is exported, expected: a row for it#" || true
	fi
}

# a version would keep references to CUPTI's own version from binding to ours
exports_of_cupti() {
	table=interpose/cupti/cupti_exports.def
	rows=$(sed -nE 's/^EXPORT\(([A-Za-z0-9_]+),.*/\1/p' $table | LC_ALL=C sort -u)
	LC_ALL=C comm -23 <(echo "$rows") <(exports | LC_ALL=C sort -u) |
		sed "s#^#$table:1: row #; s#\$# is not exported, expected: every row is#"
	LC_ALL=C comm -13 <(echo "$rows") <(exports | LC_ALL=C sort -u) |
		sed "s#^#$table:1: #; s#\$# is exported, expected: a row for it#"
	! grep -q VERDEF <<<"$dynamic" ||
		echo "$object:1: exports have versions, expected: none"
}

both() {
	sed -nE 's/.*\(NEEDED\).*\[(.*)\].*/\1/p' <<<"$dynamic" |
		grep -vxE 'libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*' |
		sed "s#^#$object:1: needs #; s#\$#, expected: only libc's own#" || true

	# before glibc 2.34 dlopen and pthread_create were in these two libraries; a job that does
	# not need them must still start
	for library in libdl.so.2 libpthread.so.0; do
		grep -q "NEEDED.*\[$library\]" <<<"$dynamic" ||
			echo "$object:1: needs no $library, expected: for glibc before 2.34"
	done

	readelf -W -V "$object" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | sed 's/GLIBC_//' |
		while IFS= read -r version; do
		[ "$(printf '%s\n' "$version" "$glibc_most" | sort -V | tail -n 1)" = \
			"$glibc_most" ] ||
			awk '$7 == "UND"' <<<"$symbols" |
			{ grep -oE "[A-Za-z0-9_]+@GLIBC_${version//./\\.}( |\$)" || true; } |
			sort -u |
			sed "s#^#$object:1: imports #; s# *\$#, expected: GLIBC_$glibc_most#"
	done

	readelf -lW "$object" | awk -v most="$tls_most" -v name="$object" '
		function number(hex,   k, n) {
			hex = tolower(substr(hex, 3))
			for (k = 1; k <= length(hex); k++)
				n = n * 16 + index("0123456789abcdef", substr(hex, k, 1)) - 1
			return n
		}
		$1 == "TLS" && number($6) > most {
			printf "%s:1: TLS of %d bytes, expected: at most %d\n", name, number($6),
				most
		}'
	grep -q STATIC_TLS <<<"$dynamic" ||
		echo "$object:1: no STATIC_TLS flag, expected: initial-exec TLS in a preload object"

	grep -q NODELETE <<<"$dynamic" ||
		echo "$object:1: may be unloaded, expected: -z nodelete, callbacks stay"

	# it cannot end the job and does not use its stdio; memory calls come from zstd's unused
	# default allocator
	ends='exit|_exit|_Exit|quick_exit|abort|__assert_fail|raise|kill'
	stdio='f?printf|__f?printf_chk|puts|fputs|fopen|fopen64|fwrite|perror|std(in|out|err)'
	imports | grep -xE "$ends|$stdio" |
		sed "s#^#$object:1: imports #; s#\$#, expected: nothing that ends or prints#" ||
		true
}

{
	read_object "$build/libgpuprof.so"
	exports_of_libgpuprof
	both
	read_object "$build/libgpuprof-cupti.so"
	exports_of_cupti
	both
} | { ! grep .; }
