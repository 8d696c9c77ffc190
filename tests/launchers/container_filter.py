"""Runs a command under a seccomp filter like that of Docker and Podman for a container without capabilities.

Calls that their default profiles forbid fail with EPERM, clone3 with ENOSYS: container_filter.py COMMAND...
"""
import ctypes
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, AND, RETURN = 0x20, 0x15, 0x54, 0x06  # BPF: A = word, A == k, A &= k
ALLOW, ERRNO, ENOSYS, EPERM = 0x7FFF0000, 0x00050000, 38, 1
NUMBER, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
CLONE, CLONE3, NAMESPACES = 56, 435, 0x7E020000  # CLONE_NEW*
REFUSED = {
    "acct": 163, "add_key": 248, "bpf": 321, "delete_module": 176, "fanotify_init": 300, "finit_module": 313,
    "fsconfig": 431, "fsmount": 432, "fsopen": 430, "init_module": 175, "io_uring_enter": 426, "io_uring_register": 427,
    "io_uring_setup": 425, "kexec_load": 246, "keyctl": 250, "lookup_dcookie": 212, "mount": 165, "move_mount": 429,
    "open_by_handle_at": 304, "open_tree": 428, "perf_event_open": 298, "pivot_root": 155, "quotactl": 179,
    "reboot": 169, "request_key": 249, "setns": 308, "swapoff": 168, "swapon": 167, "umount2": 166, "unshare": 272,
    "userfaultfd": 323,
}


def code_of():
    code = [(LOAD, 0, 0, NUMBER)]
    for number in REFUSED.values():
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | EPERM)]
    code += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | ENOSYS)]
    code += [(EQUAL, 0, 4, CLONE), (LOAD, 0, 0, FIRST_ARGUMENT), (AND, 0, 0, NAMESPACES), (EQUAL, 1, 0, 0),
             (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in code), len(code)


if __name__ == "__main__":
    libc = ctypes.CDLL(None, use_errno=True)
    text, steps = code_of()
    keep = ctypes.create_string_buffer(text)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", steps, ctypes.addressof(keep)))
    if platform.machine() != "x86_64" or libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        sys.exit(77)  # not on this processor
    os.execvp(sys.argv[1], sys.argv[1:])
