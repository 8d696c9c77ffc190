#!/usr/bin/env bash
# A circle of files that need each other has at most four files, so that each can be read alone.
# circles.py finds the circles by the symbols of the objects.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
python3 -B lint/circles.py "${BUILD:-build}"
