#!/usr/bin/env bash
# Plain English in documents, help, messages, comments and names of unit tests: banned words, prose
# of at most 100 columns, and sentences of at most 25 words (prose_words.py).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
lint/tree_files.sh | python3 lint/prose_words.py
