#!/usr/bin/env bash
# A static function's name is defined in three files at most: statics.py.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
lint/tree_files.sh | grep -E '^(libgpuprof|interpose|tools)/.*\.c$' |
	xargs python3 -B lint/statics.py
