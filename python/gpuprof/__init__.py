"""Reads recordings of gpuprof: what held GPU memory, when, and from which line of code.

    import gpuprof
    with gpuprof.open("job.gpr") as r:
        print(r.peak())

Sizes are bytes. Moments (`*_ns`) are ns since the start of the recording, `info.start_unix_ns`. Tables are
ctypes arrays of rows without padding: they have len(), [], and the buffer protocol, and
numpy.asarray(table) is a structured array of them without a copy. numpy is not needed.

Threads may share a recording: each call waits until the call of another thread is over. Works with
Python 3.8 and newer. All failures of reading raise gpuprof.Error.
"""
from ._layout import (ALLOCATED, BLOCK, BYTES_UNKNOWN, DEVICE_UNKNOWN, NO_SEGMENT, OUTSIDE, PENDING, SEGMENT, EventRow,
                      LiveRow, Point, Status, StepRow)
from ._library import KINDS, ROLES, SPACES, library
from .recording import (Damage, Device, Error, Frame, Holder, Info, Kernel, Live, Peak, Recording, Role, Stack, Steps,
                        fields, open)

__version__ = library.gp_version().decode()

__all__ = ["ALLOCATED", "BLOCK", "BYTES_UNKNOWN", "DEVICE_UNKNOWN", "Damage", "Device", "Error", "EventRow", "Frame",
           "Holder", "Info", "KINDS", "Kernel", "Live", "LiveRow", "NO_SEGMENT", "OUTSIDE", "PENDING", "Peak", "Point",
           "ROLES", "Recording", "Role", "SEGMENT", "SPACES", "Stack", "Status", "StepRow", "Steps", "fields", "open"]
