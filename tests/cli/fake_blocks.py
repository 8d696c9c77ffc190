"""The fake driver and the fake framework's allocator, for jobs in Python."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


class Table(ctypes.Structure):
    """struct fake_c10, up to the last field used"""
    _fields_ = [("expandable", ctypes.c_void_p),
                ("allocate", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)),
                ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


blocks = Table.in_dll(ctypes.CDLL("libc10.so"), "fake_c10")
