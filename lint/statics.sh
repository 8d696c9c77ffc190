#!/usr/bin/env bash
# The name of a static function is defined in at most three files: statics.py.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
lint/tree_files.sh | grep -E '^(libgpuprof|interpose|tools)/.*\.c$' |
	xargs python3 -B lint/statics.py
