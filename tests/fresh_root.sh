#!/usr/bin/env bash
# Functions for scripts that run commands on fresh machines: roots of this machine's own
# distribution, or of an older one. They need root and mmdebstrap, and change files only in the
# directory that they are given. The caller sets `dir`, which holds roots and downloaded packages.
set -euo pipefail
dir=${dir:?}

# fresh_root_tools NAME: ends the script NAME if a tool is missing
fresh_root_tools() {
	if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
		echo "$1: it needs root and mmdebstrap (apt-get install mmdebstrap)" >&2
		exit 2
	fi
	mkdir -p "$dir/archives/partial"
}

# fresh_root_make ROOT PACKAGES [SUITE]: SUITE is another Debian release than that of this machine
fresh_root_make() {
	rm -rf "$1"
	if [ -n "${3-}" ]; then
		mmdebstrap --quiet --variant=minbase --include="$2" "$3" "$1" >"$1.log" 2>&1
	else
		# shellcheck disable=SC1091
		. /etc/os-release
		# shellcheck disable=SC2016
		apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT) $(ORIGIN)' \
			'Created-By: Packages' | sed -n "s/ $ID\$//Ip" |
			mmdebstrap --quiet --variant=minbase --include="$2" "$VERSION_CODENAME" \
				"$1" - >"$1.log" 2>&1
	fi
	cp /etc/resolv.conf /etc/hosts "$1/etc/"
	apt-config dump | grep -iE '^Acquire::[a-z]+::proxy' >"$1/etc/apt/apt.conf.d/proxy" || true
}

# fresh_root_run ROOT COMMAND: as root in namespaces, because users cannot make namespaces in a
# chroot
fresh_root_run() {
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
	' fresh_root_run "$1" "$dir/archives" "$2" </dev/null
}
