#!/usr/bin/env bash
# Prints the files of the tree, one a line, sorted: those that git tracks or would track. Without
# git, all files except build/.
set -euo pipefail
cd "$(dirname "$0")/.."
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	git ls-files --cached --others --exclude-standard
else
	find . \( -path ./.git -o -path ./build \) -prune -o -type f -print | sed 's#^\./##'
fi | LC_ALL=C sort -u | while IFS= read -r file; do
	[ ! -f "$file" ] || printf '%s\n' "$file"
done
