#!/usr/bin/env bash
# The shape of the tree: unique and descriptive file names, limits on the size of files and
# functions, and no traces of a machine.
set -euo pipefail
cd "$(dirname "$0")/.."
file_lines=600
function_lines=60
columns=100
room_files=40

files=$(lint/tree_files.sh)
code=$(grep -E '\.(c|h|cu|cuh|S|def|sh|py|js|mk)$' <<<"$files")

# file names are unique, so that a stack trace needs no path; some may be in every folder
same_names() {
	sed 's#.*/##' <<<"$files" |
		grep -vxE 'README\.md|Makefile|\.gitignore|expected.*|cmd.*\.sh' | sort | uniq -d |
		while IFS= read -r name; do
			grep -E "(^|/)$(sed 's/[.[\*^$+?(){|]/\\&/g' <<<"$name")\$" <<<"$files" |
				sed "s#\$#:1: name '$name' occurs twice, expected: unique#"
		done
}

# a file named by a number is the output of a program that was called with wrong arguments
vague='(util|utils|helper|helpers|common|misc|manager|tmp|stuff)([._-]|$)|[0-9]+$'
vague_names() {
	grep -E "(^|/)($vague)" <<<"$files" |
		sed 's/$/:1: name says nothing, expected: what the file owns/' || true
}

# a command line test is a script and its expected output
unpaired() {
	grep -E '^tests/cli/.*\.(sh|out)$' <<<"$files" | sed 's/\.[a-z]*$//' | uniq -c |
		awk '$1 != 2 { printf "%s:1: expected: both .sh and .out\n", $2 }'
}

# a failed redirection leaves an empty file, and an empty script succeeds
empty_files() {
	while IFS= read -r file; do
		[ -s "$file" ] || echo "$file:1: empty, expected: what its name says"
	done <<<"$files"
}

long_files() {
	tr '\n' '\0' <<<"$code" | xargs -0 -r wc -l | awk -v most="$file_lines" '
		$1 > most && $2 != "total" {
			printf "%s:%d: %d lines, expected: at most %d\n", $2, $1, $1, most
		}'
}

# a function extends from a { to a } in the first column, including both lines
long_functions() {
	grep -E '\.(c|h|cu)$' <<<"$code" | xargs -r awk -v most="$function_lines" '
		/^\{/ { start = FNR; open = before !~ /^(class|struct|union|enum|namespace)/ }
		/^\}/ && open {
			lines = FNR - start + 1
			if (lines > most)
				printf "%s:%d: function of %d lines, expected: at most %d\n",
					FILENAME, start, lines, most
			open = 0
		}
		{ before = $0 }'
}

# limits the files of a room, so that its list is readable; larger rooms have sub-rooms by feature
full_rooms() {
	grep -E '^(interpose|libgpuprof|python|tools)/' <<<"$files" | sed 's#/[^/]*$##' | uniq -c |
		awk -v most="$room_files" '$1 > most {
			printf "%s:1: %d files, expected: at most %d and sub-rooms\n", $2, $1, most
		}'
}

# the picture of docs/TREE.md: four blanks a level
rooms_of_picture() {
	awk '
		/^```/ { on = !on; next }
		on && match($0, /[^ ]/) {
			level = (RSTART - 1) / 4
			path = ""
			part[level] = $1
			for (k = 0; k <= level; k++)
				path = path part[k]
			print path
		}' docs/TREE.md | LC_ALL=C sort
}
unshown_rooms() {
	LC_ALL=C comm -3 <(rooms_of_picture) <(
		grep -E '^(interpose|libgpuprof|python|tools)/' <<<"$files" | sed 's#[^/]*$##' |
			LC_ALL=C sort -u
	) | sed -E 's#^\t(.*)#\1:1: expected: a line in docs/TREE.md#
		t
		s#(.*)#docs/TREE.md:1: has \1, expected: a directory#'
}

# clang-format does not break long comments and strings. Tables from another program, and tables
# that scripts read line by line, are as wide as their rows.
wide='^(tests/entry_points/cudart_requests|tests/unit/libcuda_exports|tests/fake/fake_others)\.def$'
wide+='|^libgpuprof/format/(events|options)\.def$|^interpose/driver/cuda_pass\.def$'
wide+='|^libgpuprof/record/python/python_layout\.def$|^bench/bench\.sh$'
wide+='|^tests/gpu/(check_gpu|cost_sections)\.sh$'
long_lines() {
	# only few files have lines with so many bytes that tabs could make them too wide
	grep -E '\.(c|h|cu|cuh|S|def|sh)$|^tests/cli/' <<<"$code" | grep -vE "$wide" |
		LC_ALL=C xargs -r awk -v most="$columns" '
			length($0) + 7 * gsub(/\t/, "&") > most && !seen[FILENAME]++ {
				print FILENAME
			}' |
		while IFS= read -r file; do
			LC_ALL=C.UTF-8 sed 's/[^\t -~]/?/g' "$file" | expand -t 8 |
				awk -v most="$columns" -v name="$file" 'length($0) > most {
					printf "%s:%d: %d columns, expected: at most %d\n",
						name, NR, length($0), most
				}'
		done
}

# every file of code describes itself in its first lines
unsaid() {
	grep -E '\.(c|h|cu|cuh|S|def)$' <<<"$code" | xargs -r awk '
		FNR <= 2 && /^(\/\*|\/\/|#!|# )/ { said[FILENAME] = 1 }
		END {
			for (k = 1; k < ARGC; k++)
				if (!(ARGV[k] in said))
					print ARGV[k] ":1: expected: two to six lines that say" \
						" what the file owns"
		}'
	grep -E '\.sh$' <<<"$code" | xargs -r awk '
		FNR == 1 && /^#!/ { open[FILENAME] = 1 }
		FNR == 2 && /^# / { delete open[FILENAME] }
		END {
			for (k = 1; k < ARGC; k++)
				if (ARGV[k] in open)
					print ARGV[k] ":2: expected: a comment that says what the" \
						" script does"
		}'
}

leftovers() {
	local one_machine='(^|[^A-Za-z0-9_.])/(home|root|work|Users)/[A-Za-z.]|/tmp/build-'
	# this file contains the patterns
	grep -vx 'lint/tree.sh' <<<"$files" | tr '\n' '\0' |
		xargs -0 -r grep -InE "$one_machine" |
		sed 's/$/  <- a path of one machine, expected: none/' || true
	grep -vx 'lint/tree.sh' <<<"$code" | tr '\n' '\0' |
		xargs -0 -r grep -InwE 'TODO|FIXME|XXX|HACK' |
		sed 's/$/  <- expected: done, or named in the limits/' || true
}

# tabs indent code, no line ends in blanks, every text ends with a newline
blanks() {
	grep -E '\.(c|h|cu|def|S|sh|mk|md)$' <<<"$files" | tr '\n' '\0' |
		xargs -0 -r grep -InE '[[:blank:]]+$' |
		sed 's/$/  <- expected: no blanks at the end of a line/' || true
	# a look at all last bytes at once, because most often all are newlines
	[ "$(tr '\n' '\0' <<<"$code" | xargs -0 -r tail -qc 1 | tr -d '\n' | wc -c)" != 0 ] ||
		return 0
	while IFS= read -r file; do
		[ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] ||
			echo "$file:1: expected: a newline at the end of the file"
	done <<<"$code"
}

# A recording must not be able to cause collisions in a hash table (seeded_hash.h). The other
# files named here do not search by the product, or in at most 8192 entries.
seeded='^libgpuprof/(format/(seeded_hash\.h|column\.h|column_write\.c)'
seeded+='|analyze/stack_text\.c):'
constant_hashes() {
	grep -E '^(libgpuprof/(format|state|read|analyze)|tools)/.*\.[ch]$' <<<"$code" |
		xargs -r grep -InE '\*=? *(UINT64_C\()?(0x[0-9a-f]{8}|[0-9]{9})' |
		grep -vE "$seeded|[^0-9]1000000000[^0-9]" |
		sed 's/$/  <- expected: gp_hash_number or GP_HASH_MULTIPLIER/' || true
}

{
	same_names
	vague_names
	unpaired
	empty_files
	long_files
	full_rooms
	unshown_rooms
	long_functions
	long_lines
	unsaid
	leftovers
	blanks
	constant_hashes
} | { ! grep .; }
