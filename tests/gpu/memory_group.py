"""A control group with a memory limit for the jobs of a test: cgroup v2 or v1, made as root."""
import os
import pathlib
import subprocess
import tempfile


class MemoryGroup:
    """`with MemoryGroup(bytes or None) as g`: g.enter goes to Popen's preexec_fn; g.is_there: it could be made."""

    def __init__(self, limit=None):
        self.limit, self.path, self.is_there = limit, None, False

    def roots(self):
        """Where memory groups can be made: (directory, version)"""
        yield pathlib.Path("/sys/fs/cgroup"), 2
        yield pathlib.Path("/sys/fs/cgroup/memory"), 1
        for kind, options, version in (("cgroup2", [], 2), ("cgroup", ["-o", "memory"], 1)):
            point = tempfile.mkdtemp(prefix="memory-group-")
            done = subprocess.run(["mount", "-t", kind, *options, "none", point], capture_output=True)
            if done.returncode == 0:
                yield pathlib.Path(point), version
                subprocess.run(["umount", point], capture_output=True)
            os.rmdir(point)

    def make(self, root, version):
        if version == 2:
            (root / "cgroup.subtree_control").write_text("+memory")
        self.path = root / f"check-{os.getpid()}-{id(self)}"
        self.path.mkdir()
        self.peak_file = "memory.peak" if version == 2 else "memory.max_usage_in_bytes"
        self.peak()
        if self.limit:
            name = "memory.max" if version == 2 else "memory.limit_in_bytes"
            (self.path / name).write_text(str(self.limit))
            swap = self.path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")

    def __enter__(self):
        self.found = self.roots()
        for root, version in self.found:
            try:
                self.make(root, version)
            except OSError:
                self.remove()
                continue
            self.is_there = True
            break
        return self

    def remove(self):
        if self.path and self.path.is_dir():
            self.path.rmdir()
        self.path = None

    def __exit__(self, *_):
        try:
            self.remove()
        finally:
            self.found.close()

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self):
        return int((self.path / self.peak_file).read_text())
