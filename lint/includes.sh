#!/usr/bin/env bash
# Which room may include which (docs/DESIGN.md, 1). Reads every #include "..." of the tree, resolves
# it to a file and looks its room up in the table below. tests/ and bench/ may include any file.
set -euo pipefail
cd "$(dirname "$0")/.."

rules() {
	cat <<'TABLE'
libgpuprof/format   libgpuprof/format
libgpuprof/state    libgpuprof/state libgpuprof/format
libgpuprof/record   libgpuprof/record libgpuprof/format libgpuprof/state
libgpuprof/read     libgpuprof/read libgpuprof/format libgpuprof/state libgpuprof/gpuprof.h
libgpuprof/analyze  libgpuprof/analyze libgpuprof/read libgpuprof/format
libgpuprof/analyze  libgpuprof/state libgpuprof/gpuprof.h
libgpuprof/gpuprof.h libgpuprof/gpuprof.h libgpuprof/format
interpose           interpose libgpuprof/record libgpuprof/format
tools               tools libgpuprof/gpuprof.h
kernels             kernels
TABLE
}

{
	rules | sed 's/^/rule /'
	lint/tree_files.sh | sed 's/^/file /'
	lint/tree_files.sh | grep -E '\.(c|h|cu|cuh|def|S)$' |
		xargs -r grep -nH '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' |
		sed 's/^/line /'
} | awk '
function normal(path,   n, part, k, out, top) {
	n = split(path, part, "/"); top = 0
	for (k = 1; k <= n; k++) {
		if (part[k] == "." || part[k] == "")
			continue
		if (part[k] == ".." && top > 0)
			top--
		else
			out[++top] = part[k]
	}
	path = out[1]
	for (k = 2; k <= top; k++)
		path = path "/" out[k]
	return path
}
function found(what) {
	printf "%s:%s: %s\n", from, line, what
}
function room(path,   k) {
	if (path ~ /^libgpuprof\/gpuprof[a-z_]*\.h$/)
		return "libgpuprof/gpuprof.h"
	if (match(path, /^libgpuprof\/[^\/]*\//) || match(path, /^[^\/]*\//))
		return substr(path, 1, RLENGTH - 1)
	return "."
}
$1 == "rule" {
	for (k = 3; k <= NF; k++)
		allowed[$2, $k] = 1
	rooms[$2] = 1
	list = $0
	sub(/^rule +[^ ]+ +/, "", list)
	may[$2] = may[$2] (may[$2] == "" ? "" : " ") list
	next
}
$1 == "file" { exists[$2] = 1; next }
{
	text = substr($0, 6)
	split(text, part, ":"); from = part[1]; line = part[2]
	here = room(from)
	if (here == "tests" || here == "bench")
		next
	if (match(text, /<[^>]*>/)) {
		name = substr(text, RSTART + 1, RLENGTH - 2)
		if (name ~ /^(cuda|cupti|nvml)/ && here != "interpose" && here != "kernels")
			found("includes <" name ">, expected: interpose/ and kernels/ know CUDA")
		if (here == "libgpuprof/format" &&
		    name ~ /^(pthread|stdio|unistd|fcntl|threads|sys\/.*)\.h$/)
			found("includes <" name ">, expected: format/ has no threads and no I/O")
		next
	}
	match(text, /"[^"]*"/)
	name = substr(text, RSTART + 1, RLENGTH - 2)
	folder = from; sub(/[^\/]*$/, "", folder)
	target = normal(folder name)
	if (!(target in exists)) target = normal("libgpuprof/" name)
	if (!(target in exists)) target = normal("tools/" name)
	if (!(target in exists)) {
		printf "%s:%s: includes \"%s\", expected: a file of the tree\n", from, line, name
		next
	}
	if (!(here in rooms)) {
		found("room \"" here "\" has no include rule, expected: a row in lint/includes.sh")
		next
	}
	if (!((here, room(target)) in allowed))
		printf "%s:%s: includes %s, expected: only %s\n", from, line, target, may[here]
	if (here == "interpose" && target == "libgpuprof/record/recorder.h")
		found("includes recorder.h, expected: record.h, which says all that hooks may do")
}' | { ! grep .; }
