#!/bin/sh
# Opt-in, with network: NVIDIA's Nsight Systems reads what `gpuprof export --format nsys-sqlite`
# writes (tests/export/check_nsys.py). Needs no GPU.  run_nsys.sh BUILD [NSYS]
#
# NSYS is a folder with the unpacked packages nsight-systems and nsight-systems-target. Without it
# both come from Debian's component non-free into BUILD/run, with lists of packages of their own:
# the sources and the packages of this machine stay as they are. NVIDIA's license applies to them.
#
# Run on Debian 12 with nsight-systems 2023.4.4 of Debian sid.
build=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
packages_in=$build/run/nsys_packages
nsys=$(realpath -m "${2:-$packages_in/files}")
dir=$build/run/nsys
results=${RESULTS:-$dir/results}
packages="nsight-systems nsight-systems-target"

# The archive of this machine's own packages, without its security updates.
debian() {
	apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' |
		awk '($1 == "Debian" || $2 ~ /\/debian\/?$/) && $2 !~ /security/ { print $2; exit }'
}

apt() {
	apt-get -q -o Dir::State::lists="$packages_in/lists" -o Dir::Cache="$packages_in/cache" \
		-o Dir::Etc::sourcelist="$packages_in/sources.list" -o Dir::Etc::sourceparts=- \
		-o APT::Sandbox::User= "$@"
}

fetch() {
	archive=$(debian)
	if [ -z "$archive" ]; then
		echo "run_nsys.sh: this machine has no archive of Debian"
		echo "hint: NSYS=DIR names a folder with the unpacked packages"
		return 1
	fi
	rm -rf "$packages_in"
	mkdir -p "$packages_in/lists/partial" "$packages_in/cache/archives/partial"
	mkdir "$packages_in/new"
	echo "deb $archive sid non-free" >"$packages_in/sources.list"
	apt update >"$packages_in/log" 2>&1 && (cd "$packages_in/new" && apt download $packages) \
		>>"$packages_in/log" 2>&1 || { cat "$packages_in/log"; return 1; }
	for package in "$packages_in"/new/*.deb; do
		dpkg-deb -x "$package" "$packages_in/unpacked" || return 1
		rm "$package"
	done
	mv "$packages_in/unpacked" "$nsys"
}

[ -d "$nsys/usr" ] || [ -n "$2" ] || fetch || exit 2
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || exit 2
python3 -B "$here/export/check_nsys.py" "$nsys" "$build/gpuprof" "$build/frag/made_gpu_time" \
	"$here"/data/fake-*.gpr "$here"/data/h200_gpt_oom.gpr "$here"/data/h200_ranges.gpr \
	"$here"/data/h200_jax.gpr "$here"/data/leak_pinned.gpr \
	"$here"/data/gpu_time/*.gpr >found 2>errors ||
	echo "fail checker $(tail -n 1 errors)" >>found
sed 's,^\([a-z]*\) ,\1 nsys/,' found >>"$results"
cat found
! grep -q '^fail' found
