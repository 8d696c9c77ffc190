#!/usr/bin/env bash
# The rules of docs/DESIGN.md, 3, that the sources and objects of the preload object can show: the
# loader only in look-ups (8), no malloc and no stdio of the job (2), no function that ends the
# process or prints (10).
set -euo pipefail
cd "$(dirname "$0")/.."
objects="${BUILD:-build}/preload ${BUILD:-build}/preload_cupti"

# file:line: text, without comments and strings
code_of() {
	awk '
		FNR == 1 { inside = 0 }
		{
			line = $0; out = ""
			gsub(/\\"/, "", line); gsub(/"[^"]*"/, "\"\"", line)
			while (line != "") {
				if (inside) {
					at = index(line, "*/")
					if (!at) { line = ""; break }
					line = substr(line, at + 2); inside = 0
				} else {
					at = index(line, "/*")
					slashes = index(line, "//")
					if (slashes && (!at || slashes < at)) {
						out = out substr(line, 1, slashes - 1)
						break
					}
					if (!at) { out = out line; break }
					out = out substr(line, 1, at - 1)
					line = substr(line, at + 2)
					inside = 1
				}
			}
			if (out ~ /[^ \t]/) print FILENAME ":" FNR ": " out
		}' "$@"
}

target=$(lint/tree_files.sh | grep -E '^(interpose|libgpuprof/(record|state|format))/.*\.[ch]$' |
	grep -v '/cuda_types\.h$')

{
	imported='malloc|calloc|realloc|free|strdup|asprintf|opendir|getline|exit|_exit|abort'
	imported+='|__assert_fail|f?printf|__f?printf_chk|puts|fopen|perror|signal|raise|system'
	imported+='|setenv'
	callers='lookup/(resolver|lookup)|nvtx/lookup|open_unwind|cupti/cupti_library'
	loader='dlsym|dlvsym|dlopen|dlmopen|dlclose|dladdr1?|dlinfo'
	# shellcheck disable=SC2086 # one word a file
	code_of $target | grep -E "[^A-Za-z0-9_]($loader)[[:space:]]*\\(" |
		grep -vE "^interpose/($callers)[a-z_]*\\.[ch]:" |
		sed 's/$/  <- expected: only lookups call the loader (rule 8)/' || true
	# setenv in another thread moves the strings of getenv: only the constructor may call it
	# shellcheck disable=SC2086
	code_of $target | grep -E '[^A-Za-z0-9_](secure_)?getenv[[:space:]]*\(' |
		grep -vE '^(libgpuprof/record/process/settings|interpose/nvtx/lookup_nvtx)\.c:' |
		sed 's/$/  <- expected: gp_environment_find (rule 10)/' || true
	foreign='malloc|calloc|realloc|free|strdup|asprintf|exit|_exit|abort|printf|fprintf|puts'
	foreign+='|perror|fopen|signal|sigaction|raise|system|popen|setenv|putenv|assert'
	# the constructor sets our path for NVTX, in this process and its children
	# shellcheck disable=SC2086
	code_of $target | grep -E "[^A-Za-z0-9_.>]($foreign)[[:space:]]*\\(" |
		grep -vE '^interpose/nvtx/lookup_nvtx\.c:[0-9]+: [^(]*setenv\(' |
		sed 's/$/  <- expected: not in the target (rules 2 and 10)/' || true
	# one read-modify-write on the path: the order number is the only shared word of record.h
	# with sequential consistency
	n=$(code_of libgpuprof/record/record.h |
		grep -cE 'atomic_(fetch_|exchange|compare_exchange)' || true)
	[ "$n" -le 1 ] ||
		echo "libgpuprof/record/record.h:1: $n atomics write, expected: one (rule 2)"

	# our own objects, without those of zstd
	# shellcheck disable=SC2086 # two directories
	find $objects -name '*.o' -print0 2>/dev/null | sort -z | xargs -0 -r nm -Au |
		sed -nE "s/^([^:]+): +[a-zA-Z] ($imported)\$/\1:1: imports \2/p" |
		sed 's/$/, expected: not (rules 2, 10)/' |
		grep -v '/lookup_nvtx\.c\.o:1: imports setenv,' || true
} | { ! grep .; }
