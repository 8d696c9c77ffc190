#!/usr/bin/env bash
# Runs README's commands on fresh machines: roots of this machine's own distribution in which only
# make, git and certificates are installed, with the committed sources. Each command gets a root of
# its own, once as root and once as a user with sudo. It needs root, mmdebstrap and the apt sources
# of this machine; it changes nothing outside of BUILD/run/fresh.
#   check_fresh.sh BUILD [NAME...]    names: root-demo user-demo root-check user-check
set -euo pipefail
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/fresh
[ $# -gt 0 ] || set -- root-demo user-demo root-check user-check
passed=0 failed=0

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
	echo 'check-fresh: it needs root and mmdebstrap (apt-get install mmdebstrap)' >&2
	exit 2
fi
# shellcheck disable=SC1091
. /etc/os-release
commands=$("$here/../lint/readme_commands.sh")

# sources: of this distribution only, as this machine reaches it
sources() {
	# shellcheck disable=SC2016
	apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' \
		'Created-By: Packages' | sed -n "s/ $ID\$//Ip"
}
# make_base: the root that all others are copies of; packages are downloaded once
make_base() {
	rm -rf "$dir"
	mkdir -p "$dir/archives/partial"
	sources | mmdebstrap --quiet --variant=minbase --include=make,git,ca-certificates \
		"$VERSION_CODENAME" "$dir/base" - >"$dir/base.log" 2>&1
	cp /etc/resolv.conf /etc/hosts "$dir/base/etc/"
	apt-config dump | grep -iE '^Acquire::[a-z]+::proxy' \
		>"$dir/base/etc/apt/apt.conf.d/proxy" || true
	git clone -q "$here/.." "$dir/base/srv/gpuprof"
}

# in_root ROOT COMMAND: by root, as on a machine of its own: no chroot, in which users could make no
# namespaces
in_root() {
	# shellcheck disable=SC2016
	unshare --mount --pid --ipc --uts --fork --kill-child --propagation private bash -ec '
		mount --bind "$1" "$1"
		cd "$1"
		mount --bind "$2" var/cache/apt/archives
		mount -t proc proc proc
		mount -t sysfs -o ro sysfs sys
		mount -t tmpfs -o mode=755 dev dev
		mkdir dev/shm dev/pts
		for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
			IFS=: read -r name major minor <<<"$node"
			mknod -m 666 "dev/$name" c "$major" "$minor"
		done
		ln -s /proc/self/fd dev/fd
		ln -s /proc/self/fd/0 dev/stdin
		ln -s /proc/self/fd/1 dev/stdout
		ln -s /proc/self/fd/2 dev/stderr
		ln -s pts/ptmx dev/ptmx
		mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
		mount -t tmpfs -o mode=1777 shm dev/shm
		mount -t tmpfs -o mode=1777 tmp tmp
		pivot_root . mnt
		umount -l /mnt
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -ec "$3"
	' in_root "$1" "$dir/archives" "$2" </dev/null
}

# fresh NAME: WHO-WORD, the command is README's whose last word is WORD
fresh() {
	local name=$1 root=$dir/$1 log=$dir/$1.log command status=0 began=$SECONDS
	command=$(grep -E " ${name#*-}\$" <<<"$commands")
	cp -a "$dir/base" "$root"
	if [ "${name%-*}" = user ]; then
		in_root "$root" 'apt-get update -q && apt-get install -y -q sudo &&
			useradd --create-home --shell /bin/bash somebody &&
			echo "somebody ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/somebody &&
			chown -R somebody /srv/gpuprof && apt-get clean &&
			rm -r /var/lib/apt/lists' >"$log.sudo" 2>&1 || status=1
		command="su somebody -c 'cd && cd /srv/gpuprof && $command'"
	else
		command="cd /srv/gpuprof && $command"
	fi
	echo "\$ $command" >"$log"
	[ "$status" != 0 ] || in_root "$root" "$command" >>"$log" 2>&1 || status=$?
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
