"""sparse_ring.py NAME PID BOOT_ID BYTES: a ring file that is one hole behind its control page, and
claims more rings than fit."""
import struct
import sys

name, pid, boot_id, size = sys.argv[1:]
control = struct.pack(
    "<QIIQQ40s1024sIII",
    0x474E495246504700,
    2,
    int(pid),
    0,
    0,
    boot_id.encode(),
    b"/nowhere/a.gpr",
    2,
    4000000000,
    1,
)
with open(name, "wb") as ring:
    ring.write(control)
    ring.truncate(int(size))
