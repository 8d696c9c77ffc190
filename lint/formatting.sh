#!/usr/bin/env bash
# clang-format over every C file: `formatting.sh` lists the lines that differ, `formatting.sh apply`
# formats them. Versions of clang-format differ, so only version 14 (Debian 12) is used. Tables
# (.def) keep their columns.
set -euo pipefail
cd "$(dirname "$0")/.."
version=14

tool=
for candidate in "clang-format-$version" clang-format; do
	if command -v "$candidate" >/dev/null && "$candidate" --version |
		grep -qE "version $version\."; then
		tool=$candidate
		break
	fi
done
if [ -z "$tool" ]; then
	echo "skipped: clang-format $version is not installed"
	exit 77
fi

mapfile -t files < <(lint/tree_files.sh | grep -E '\.(c|h|cu|cuh)$')
if [ "${1:-}" = apply ]; then
	exec "$tool" -i "${files[@]}"
fi
{ "$tool" --dry-run --Werror "${files[@]}" 2>&1 || true; } | { grep -E '^[^ ]+:[0-9]+:[0-9]+: ' ||
	true; } |
	sed -E 's/^([^:]+:[0-9]+):[0-9]+:.*/\1: expected: as make format writes it/' |
	sort -u -t: -k1,1 -k2,2n | { ! grep .; }
