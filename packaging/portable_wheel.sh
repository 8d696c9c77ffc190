#!/usr/bin/env bash
# Builds the wheel from the committed sources in a root of an older Debian. Its tag then has the
# glibc of that Debian, or an older one: manylinux_2_28 with bullseye.
#   portable_wheel.sh BUILD SUITE
set -euo pipefail
build=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
dir=$build/run/portable_wheel
# shellcheck source=tests/fresh_root.sh
. "$here/tests/fresh_root.sh"

fresh_root_tools portable-wheel
# the build dependencies of the Debian package, and the packages for a wheel
packages=$(sed -n '/^Build-Depends:/,/^[A-Z][a-z]*-Version/p' "$here/packaging/debian/control" |
	grep -oE '\b(lib|go-|zlib)[a-z0-9-]*' | tr '\n' ,)
fresh_root_make "$dir/machine" "$packages"make,gcc,libc6-dev,binutils,python3 "$2"
mkdir "$dir/machine/srv/gpuprof"
git -C "$here" archive HEAD | tar -x -C "$dir/machine/srv/gpuprof"
# shellcheck disable=SC2016
fresh_root_run "$dir/machine" 'cd /srv/gpuprof && make -s -j$(nproc) wheel' >"$dir/make.log" 2>&1 ||
	{ tail -n 5 "$dir/make.log" >&2; exit 1; }
rm -rf "$build/portable_wheel"
mkdir "$build/portable_wheel"
mv "$dir"/machine/srv/gpuprof/build/wheel/*.whl "$build/portable_wheel"
tail -n 1 "$dir/make.log" | sed "s#build/wheel/#$build/portable_wheel/#"
rm -rf "$dir/machine"
