#!/usr/bin/env python3
"""Packs the build as a wheel: wheel.py VERSION BUILD INSIDE...

The wheel has BUILD/wheel/gpuprof as the command, and the Python module. Its lib/gpuprof has the preload library and the
reading library, with all shared libraries that are not part of libc. The tag is computed: manylinux_2_N, where N is the newest glibc with a needed symbol.
INSIDE: other files whose code is in the wheel. The licences of files from packages of the distribution (dpkg) are
packed, too. Uses only Python's standard library and binutils.
"""
import base64
import glob
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

# part of glibc: every manylinux system has them
OF_LIBC = re.compile(r"(ld-linux-[\w-]+|libc|libm|libdl|libpthread|librt|linux-vdso)\.so(\.\d+)?$")
NAME = "gpuprof"


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def needed_libraries(program):
    """The paths of all shared libraries that PROGRAM needs, directly or indirectly, except those of libc."""
    found = []
    for line in output("ldd", program).splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if not arrow or OF_LIBC.match(os.path.basename(name)):
            continue
        if path.startswith("not found"):
            sys.exit("wheel: %s needs %s, which is not found" % (program, name))
        found.append(path.split(" (")[0])
    return sorted(found)


def newest_glibc(path):
    """The newest version of glibc from which PATH needs a symbol, as (2, N)."""
    text = output("objdump", "-p", path)
    names = re.findall(r" (GLIBC_\S+)$", text[text.find("Version References"):], re.MULTILINE)
    strange = [name for name in names if not re.match(r"GLIBC_2\.\d+(\.\d+)?$", name)]
    if strange:
        sys.exit("wheel: %s needs %s, which no manylinux tag names" % (path, strange[0]))
    return max([tuple(int(part) for part in name[6:].split(".")[:2]) for name in names] or [(2, 0)])


def package_of(path):
    """The Debian package that contains PATH. Packages may list it without the link from /lib to /usr/lib."""
    for name in {path, os.path.realpath(path), re.sub("^/usr", "", os.path.realpath(path)), "/usr" + path}:
        owner = subprocess.run(["dpkg", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               universal_newlines=True).stdout
        if owner:
            return owner.split(":")[0]
    sys.exit("wheel: no package of dpkg has %s, so its licence is not known" % path)


def licences(paths):
    """{name: path} of the licences of the packages that contain PATHS, with the common texts to which they refer."""
    found = {}
    for path in paths:
        package = package_of(os.path.normpath(path))
        copyright_of = "/usr/share/doc/%s/copyright" % package
        found[package + ".txt"] = copyright_of
        with open(copyright_of, encoding="utf-8", errors="replace") as text:
            for common in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text.read()):
                found[common + ".txt"] = "/usr/share/common-licenses/" + common
    return found


class Wheel:
    """A zip file with a record of the checksums of its files."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name)  # the time stays 1980, so that equal builds give equal wheels
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def add_file(self, name, path, mode=0o644):
        with open(path, "rb") as file:
            self.add(name, file.read(), mode)

    def close(self, record_name):
        self.record.append(record_name + ",,\n")
        entry = zipfile.ZipInfo(record_name)
        entry.external_attr = 0o100644 << 16
        self.archive.writestr(entry, "\n".join(self.record))
        self.archive.close()


def metadata(version):
    with open("README.md", encoding="utf-8") as readme:
        return ("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: Shows where the GPU memory of an unmodified "
                "CUDA job goes\nLicense: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.6\n"
                "Classifier: License :: OSI Approved :: Apache Software License\n"
                "Classifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/markdown\n\n%s"
                % (NAME, version, readme.read()))


def stripped(path):
    """The content of the file PATH without its debug information."""
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run([os.environ.get("STRIP", "strip"), "--strip-unneeded", "-o", copy.name, path], check=True)
        with open(copy.name, "rb") as file:
            return file.read()


def main():
    version, build, inside = sys.argv[1], sys.argv[2], sys.argv[3:]
    folder = os.path.join(build, "wheel")
    program = os.path.join(folder, NAME)
    ours = [os.path.join(build, name) for name in ("libgpuprof.so", "libgpuprof-unwind.so", "libgpuprof-cupti.so")]
    ours = [path for path in ours if os.path.exists(path)] + [os.path.join(folder, "libgpuprof-read.so.0")]
    libraries = needed_libraries(program)
    newest, path = max((newest_glibc(path), path) for path in [program] + ours + libraries)
    tag = "py3-none-manylinux_%d_%d_%s" % (newest + (platform.machine(),))

    name = os.path.join(folder, "%s-%s-%s.whl" % (NAME, version, tag))
    wheel, data, info = Wheel(name), "%s-%s.data/" % (NAME, version), "%s-%s.dist-info/" % (NAME, version)
    wheel.add(data + "scripts/" + NAME, stripped(program), 0o755)
    for library in ours:
        wheel.add(data + "data/lib/gpuprof/" + os.path.basename(library), stripped(library), 0o755)
    for library in libraries:
        wheel.add_file(data + "data/lib/gpuprof/" + os.path.basename(library), library, 0o755)
    for module in sorted(glob.glob("python/gpuprof/*.py")):
        wheel.add_file(NAME + "/" + os.path.basename(module), module)
    pages = os.path.join(build, "man")
    for page in sorted(os.listdir(pages) if os.path.isdir(pages) else []):
        wheel.add_file(data + "data/share/man/man1/" + page, os.path.join(pages, page))
    wheel.add_file(data + "data/share/bash-completion/completions/" + NAME, "packaging/completion.bash")
    wheel.add_file(data + "data/share/zsh/site-functions/_" + NAME, "packaging/completion.zsh")
    wheel.add_file(info + "licenses/LICENSE", "LICENSE")
    for text, source in sorted(licences(libraries + inside).items()):
        wheel.add_file(info + "licenses/" + text, source)
    wheel.add(info + "METADATA", metadata(version).encode())
    wheel.add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: gpuprof (%s)\nRoot-Is-Purelib: false\nTag: %s\n"
                               % (version, tag)).encode())
    wheel.close(info + "RECORD")
    print("%s: needs glibc %d.%d or newer, for %s" % (name, newest[0], newest[1], os.path.basename(path)))


if __name__ == "__main__":
    main()
