#!/bin/sh
# Copies the build into $BUILD/bundle (and bundle.tar.xz) with every library that it needs, except
# libc. The copy runs on a machine that has none of them. It has the same folders as $BUILD, so that
# BUILD=bundle works for the checks.
set -eu
: "${BUILD:=build}"
here=$(cd "$(dirname "$0")/.." && pwd)
bundle=$BUILD/bundle
rm -rf "$bundle" "$bundle.tar.xz"
mkdir -p "$bundle/lib"
cp "$BUILD/gpuprof" "$BUILD"/libgpuprof*.so "$bundle"
for room in fake entry_points victims unit native symbols storm kernels gpu bench; do
	[ -d "$BUILD/$room" ] || continue
	(cd "$BUILD" && find "$room" -type f ! -name '*.d' ! -name '*.o' -exec cp --parents {} \
		"bundle" \;)
done
# unit tests and benchmarks are linked statically: nine tenths of their size is debug information
find "$bundle/unit" "$bundle/bench" -type f -perm -u+x -exec strip --strip-debug {} +
mkdir -p "$bundle/tests"
cp -R "$here/tests/gpu" "$here/tests/data" "$here/tests/page_documents.py" "$bundle/tests"
cp "$here/bench/bench.sh" "$bundle/bench"

# the unit tests open the system's libunwind by name, to compare ours with it
unwinder=$(ldconfig -p | sed -n 's/.*libunwind\.so\.8 .*=> //p' | head -n 1)
[ -z "$unwinder" ] || cp -L "$unwinder" "$bundle/lib"
# the target machine has the parts of libc; all other libraries are copied
find "$bundle" -type f \( -perm -u+x -o -name '*.so*' \) -exec ldd {} \; 2>/dev/null |
	sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
	while read -r library; do
		case ${library##*/} in
		libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so*) ;;
		ld-linux* | libcuda.so*) ;;
		*) cp -L "$library" "$bundle/lib" ;;
		esac
	done

# xz has a window of megabytes, which helps because the programs of unit/ share code
tar -C "$BUILD" --use-compress-program='xz -3 -T0' -cf "$bundle.tar.xz" bundle
bytes=$(wc -c <"$bundle.tar.xz")
echo "bundle: $bundle.tar.xz, $bytes bytes"
[ "$bytes" -le 31457280 ] || { echo "bundle: over 30 MiB" >&2; exit 1; }
