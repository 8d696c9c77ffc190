#!/usr/bin/env bash
# Runs README's commands on fresh machines: roots of this machine's own distribution, with the
# committed sources. Only make, git and certificates are installed there. Each command gets a root
# of its own, once as root and once as a user with sudo. Needs root, mmdebstrap and the apt sources
# of this machine. Changes files only in BUILD/run/fresh.
#   check_fresh.sh BUILD [NAME...]    names: root-demo user-demo root-check user-check
set -euo pipefail
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/fresh
[ $# -gt 0 ] || set -- root-demo user-demo root-check user-check
passed=0 failed=0

# shellcheck source=tests/fresh_root.sh
. "$here/fresh_root.sh"
rm -rf "$dir"
fresh_root_tools check-fresh
commands=$("$here/../lint/readme_commands.sh")

# make_base: makes the root of which all others are copies; packages are downloaded once
make_base() {
	fresh_root_make "$dir/base" make,git,ca-certificates
	git clone -q "$here/.." "$dir/base/srv/gpuprof"
}

# fresh NAME: a NAME is USER-WORD and runs the command of README whose last word is WORD
fresh() {
	local name=$1 root=$dir/$1 log=$dir/$1.log command status=0 began=$SECONDS
	command=$(grep -E " ${name#*-}\$" <<<"$commands")
	cp -a "$dir/base" "$root"
	if [ "${name%-*}" = user ]; then
		fresh_root_run "$root" 'apt-get update -q && apt-get install -y -q sudo &&
			useradd --create-home --shell /bin/bash somebody &&
			echo "somebody ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/somebody &&
			chown -R somebody /srv/gpuprof && apt-get clean &&
			rm -r /var/lib/apt/lists' >"$log.sudo" 2>&1 || status=1
		command="su somebody -c 'cd && cd /srv/gpuprof && $command'"
	else
		command="cd /srv/gpuprof && $command"
	fi
	echo "\$ $command" >"$log"
	[ "$status" != 0 ] || fresh_root_run "$root" "$command" >>"$log" 2>&1 || status=$?
	echo "$name: status $status after $((SECONDS - began)) s: $(tail -n 1 "$log")"
	if [ "$status" = 0 ]; then
		passed=$((passed + 1))
		rm -rf "$root"
	else
		failed=$((failed + 1))
		echo "$name: see $log and $root"
	fi
}

make_base
for name in "$@"; do
	fresh "$name"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
