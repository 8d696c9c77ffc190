#!/usr/bin/env bash
# Each command has a page and each page a command, with the same synopsis and description.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${BUILD:-build}/gpuprof
plain() { tr -d '`*_\\' | tr -s '[:space:]' ' '; }

{
	for source in tools/cmd_*.c; do
		[ -f "$source" ] || continue
		name=${source#tools/cmd_}
		name=${name%.c}
		page=docs/man/gpuprof-$name.1.md
		if [ ! -f "$page" ]; then
			echo "$source:1: no manual page, expected: $page"
			continue
		fi
		# "usage: gpuprof info [--json] FILE..." as the program prints it
		[ -x "$program" ] || continue
		help=$("$program" "$name" --help 2>/dev/null)
		synopsis=$(sed -n '1,/^$/{s/^usage: //; p}' <<<"$help" | plain)
		# the page may have it in bold or as code, and on several lines
		awk 'toupper($0) ~ /^#+ *SYNOPSIS/ { on = 1; next } on && /^#/ { exit } on' \
			"$page" |
			plain | grep -qF -- "$(plain <<<"$synopsis")" ||
			echo "$page:1: synopsis differs from the program's, expected: $synopsis"
		# the page of the command and gpuprof(1) have the description of --help
		text=$(awk '!$0 { getline; print; exit }' <<<"$help")
		grep -qxF -- "gpuprof-$name - $text" "$page" ||
			echo "$page:1: description differs, expected: gpuprof-$name - $text"
		grep -qxF -- "| [$name](gpuprof-$name.1.md) | $text |" docs/man/gpuprof.1.md ||
			echo "docs/man/gpuprof.1.md:1: '$name' differs, expected: $text"
	done
	for page in docs/man/gpuprof-*.1.md; do
		[ -f "$page" ] || continue
		name=${page#docs/man/gpuprof-}
		[ -f "tools/cmd_${name%.1.md}.c" ] ||
			echo "$page:1: no such command, expected: tools/cmd_${name%.1.md}.c"
	done
	# a term that follows a paragraph without a blank line becomes a part of it
	awk '/^: / && !is_term { print FILENAME ":" FNR - 1 ": no blank line above, expected: one" }
		{ is_term = /^$/ || (is_term && /^`/) }' docs/man/*.md
	# the program prints the page of options
	page=docs/ENVIRONMENT.md
	if [ -x "$program" ] && [ -f $page ]; then
		diff <(sed -n '/^## /,$p' docs/ENVIRONMENT.md) <("$program" help --environment) |
			grep '^[<>]' |
			sed "s#^<#$page:1: says:    #; s#^>#$page:1: expected:#" || true
	fi
	# the tables of the format come from the sources
	diff docs/FORMAT.md <(python3 docs/format_tables.py libgpuprof/format/events.def \
		libgpuprof/format/event.h docs/FORMAT.md 2>&1) | grep '^[<>]' |
		sed 's/^</docs\/FORMAT.md:1: says:    /; s/^>/docs\/FORMAT.md:1: expected:/' || true
	# links inside the documents have a target
	lint/tree_files.sh | grep '\.md$' | while IFS= read -r page; do
		{ grep -noE '\]\([^)#: ]+' "$page" || true; } | while IFS= read -r found; do
			link=${found#*](}
			[ -e "$(dirname "$page")/$link" ] ||
				echo "$page:${found%%:*}: link to $link, expected: a file"
		done
	done
} | { ! grep .; }
