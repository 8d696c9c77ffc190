#!/usr/bin/env bash
# Files of a room that need each other in a circle: four at most, so that each can be read alone.
# Read off the symbols of the objects: circles.py.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
python3 -B lint/circles.py "${BUILD:-build}"
