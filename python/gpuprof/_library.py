"""Finds and loads libgpuprof-read.so, and declares its functions.

The library keeps data that all recordings share, so `lock` is held during each call.
"""
import ctypes
import os
import site
import sys
import threading
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint8, c_uint32, c_void_p

from . import _layout as layout

FILE = "libgpuprof-read.so.%d" % layout.API_MAJOR

lock = threading.RLock()


def _places():
    """Paths of the library: of `make install` and of a package, of pip, and then the loader's."""
    here = os.path.dirname(os.path.abspath(__file__))
    lib = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    bases = [lib, os.path.join(lib, "gpuprof"), os.path.join(os.path.dirname(here), "lib", "gpuprof")]
    roots = [sys.prefix, site.getuserbase() if site.ENABLE_USER_SITE else None]
    bases += [os.path.join(root, "lib", "gpuprof") for root in roots if root]
    return [os.path.join(base, FILE) for base in bases]


def _load():
    path = next((path for path in _places() if os.path.exists(path)), FILE)
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("gpuprof: cannot load '%s': %s" % (path, error), name="gpuprof", path=path) from None


_recording = c_void_p
_status = c_int
# name: result, arguments
_FUNCTIONS = {
    "gp_version": (c_char_p, []),
    "gp_api_version": (c_uint, []),
    "gp_api_struct_bytes": (c_size_t, [c_char_p]),
    "gp_status_text": (c_char_p, [c_int]),
    "gp_recording_open": (_status, [c_char_p, POINTER(_recording), POINTER(layout.Damage)]),
    "gp_recording_close": (None, [_recording]),
    "gp_recording_info": (_status, [_recording, POINTER(POINTER(layout.InfoStruct))]),
    "gp_recording_rewind": (_status, [_recording]),
    "gp_recording_read_rows": (_status, [_recording, POINTER(layout.KindSet), c_void_p, c_size_t,
                                         POINTER(c_size_t)]),
    "gp_recording_stack": (c_bool, [_recording, c_uint32, c_int64, c_int, POINTER(layout.StackStruct),
                                    POINTER(layout.FrameStruct), c_size_t]),
    "gp_peak_build": (_status, [_recording, c_int, c_int64, POINTER(layout.PeakStruct)]),
    "gp_peak_free": (None, [POINTER(layout.PeakStruct)]),
    "gp_timeline_build": (_status, [_recording, c_size_t, c_int64, c_int64, POINTER(layout.Timeline)]),
    "gp_timeline_free": (None, [POINTER(layout.Timeline)]),
    "gp_live_rows_build": (_status, [_recording, POINTER(layout.MomentOf), c_bool, POINTER(layout.LiveRows)]),
    "gp_live_rows_free": (None, [POINTER(layout.LiveRows)]),
    "gp_role_sums_build": (_status, [_recording, POINTER(layout.RoleMoment), c_size_t, POINTER(layout.RoleMakers)]),
    "gp_steps_find": (_status, [_recording, POINTER(layout.StepsStruct)]),
    "gp_steps_free": (None, [POINTER(layout.StepsStruct)]),
    "gp_kernels_build": (_status, [_recording, c_int, c_int64, c_int64, c_uint, POINTER(layout.Kernels)]),
    "gp_kernels_free": (None, [POINTER(layout.Kernels)]),
}


def _declare(library):
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def _check(library):
    """A struct of another size would give wrong figures, or overwrite memory."""
    try:
        _declare(library)
    except AttributeError as error:
        raise ImportError("gpuprof: the library is too old for this module: %s" % error, name="gpuprof") from None
    version = library.gp_api_version()
    other = [name for name, struct in layout.structs().items()
             if library.gp_api_struct_bytes(name.encode()) != ctypes.sizeof(struct)]
    if version // 1000 != layout.API_MAJOR or version % 1000 < layout.API_MINOR or other:
        raise ImportError(
            "gpuprof: the library has version %s, interface %d.%d, which this module does not fit%s"
            % (library.gp_version().decode(), version // 1000, version % 1000,
               ": " + other[0] if other else ""), name="gpuprof")


library = _load()
_check(library)


def texts(name, count):
    """A table of texts of the library, as `gp_role_keys`."""
    return tuple(text.decode() if text else "" for text in (c_char_p * count).in_dll(library, name))


ROLES = texts("gp_role_keys", layout.ROLES)
SPACES = texts("gp_space_names", layout.SPACES)
EVENT_INFOS = (layout.EventInfo * layout.KINDS).in_dll(library, "gp_event_infos")
KINDS = {info.name.decode(): kind for kind, info in enumerate(EVENT_INFOS) if info.name}
