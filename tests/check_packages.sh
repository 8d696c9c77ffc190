#!/usr/bin/env bash
# Installs the Debian package and the wheels of BUILD on fresh machines, as users do, and uses the
# installed programs. It needs root, mmdebstrap, a network and lintian.
#   check_packages.sh BUILD [NAME...]    names: lintian deb wheel portable_wheel
set -euo pipefail
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
dir=$build/run/packages
# shellcheck source=tests/fresh_root.sh
. "$here/fresh_root.sh"
[ $# -gt 0 ] || set -- lintian deb wheel portable_wheel
passed=0 failed=0

# prepare: makes the root of which all others are copies, with a driver, a job and a recording
prepare() {
	rm -rf "$dir"
	fresh_root_tools check-packages
	fresh_root_make "$dir/base" ca-certificates
	mkdir "$dir/base/srv/given"
	cp "$build/fake/libcuda.so.1" "$build/victims/leak_two" "$here/install/print_peak.c" \
		"$here/install/press_tab.zsh" "$here/install/use_package.sh" \
		"$here/data/h200_oom_kinds.gpr" "$dir/base/srv/given"
}

check_lintian() {
	lintian --allow-root --fail-on error "$build"/deb/*.changes
}

# check_installed NAME FILE: runs use_package.sh NAME in a root of its own
check_installed() {
	cp -a "$dir/base" "$dir/$1"
	cp "$2" "$dir/$1/srv/given"
	fresh_root_run "$dir/$1" "cd /srv/given && bash -e use_package.sh $1"
	rm -rf "${dir:?}/$1"
}

prepare
for name in "$@"; do
	case $name in
	lintian) command=check_lintian ;;
	deb) command="check_installed deb $(ls "$build"/deb/gpuprof_*.deb)" ;;
	*) command="check_installed $name $(ls "$build/$name"/*.whl)" ;;
	esac
	status=0 log=$dir/$name.log
	# a shell of its own, because a function before `||` continues after an error
	bash -ec "$(declare -f); dir=$dir build=$build; $command" >"$log" 2>&1 || status=$?
	if [ "$status" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	echo "$name: status $status (see $log)"
done
rm -rf "$dir/base"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
