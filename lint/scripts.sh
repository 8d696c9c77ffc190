#!/usr/bin/env bash
# Shell scripts: strict mode if they are executable, and shellcheck if it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t scripts < <(lint/tree_files.sh | tr '\n' '\0' | LC_ALL=C xargs -0 -r awk '
	FNR == 1 && /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME }')

status=0
for file in "${scripts[@]}"; do
	[ -x "$file" ] || { echo "$file:1: expected: executable" && status=1; }
	case $file in lint/* | .ci/*)
		grep -q '^set -euo pipefail$' "$file" ||
			{ echo "$file:1: expected: set -euo pipefail" && status=1; }
		;;
	esac
done
if ! command -v shellcheck >/dev/null; then
	[ "$status" = 0 ] || exit 1
	echo 'skipped: shellcheck is not installed'
	exit 77
fi
# names of tests have no blanks; "VARIABLE= command" is intended
shellcheck --format=gcc --severity=warning --exclude=SC1007,SC2010,SC2046,SC2048 "${scripts[@]}" ||
	status=1
# tests/run_cli.sh gives each script its shell and its empty directory
shellcheck --shell=sh --format=gcc --severity=warning \
	--exclude=SC1007,SC2010,SC2034,SC2045,SC2046,SC2164,SC2238,SC3045 \
	tests/cli_masks.sh tests/cli/*.sh || status=1
exit "$status"
