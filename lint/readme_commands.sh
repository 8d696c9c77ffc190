#!/usr/bin/env bash
# Prints the first two commands of README.md, one a line. .ci/run and the check of a fresh machine
# run them as a reader would. The exit status is 1 if README.md has other commands.
set -euo pipefail
cd "$(dirname "$0")/.."
commands=$(sed -n 's/^    \(make deps [^#]*[^# ]\) *#.*/\1/p' README.md)
if [ "$commands" != $'make deps demo\nmake deps check' ]; then
	echo "README.md:1: found: ${commands//$'\n'/, }, expected: make deps demo, make deps check"
	exit 1
fi
echo "$commands"
