#!/usr/bin/env bash
# Prints the two commands with which README.md begins, one a line: .ci/run and the check of a fresh
# machine run them as a reader would. It ends with 1 when README.md has others.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=$(sed -n 's/^    \(make deps [^#]*[^# ]\) *#.*/\1/p' README.md)
if [ "$commands" != $'make deps demo\nmake deps check' ]; then
	echo "README.md:1: found: ${commands//$'\n'/, }, expected: make deps demo, make deps check"
	exit 1
fi
echo "$commands"
