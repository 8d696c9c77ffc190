"""The structs and numbers of the headers in libgpuprof/ that this module reads.

tests/reading/check_layout.py compares each name, place and size with the headers. At import,
_library.py compares the sizes with those of the library that it loaded.
"""
import ctypes
import enum
from ctypes import (POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint,
                    c_uint8, c_uint16, c_uint32, c_uint64)

API_MAJOR = 0
API_MINOR = 1  # the oldest that has all functions of _library.py

KINDS = 128
DEVICES = 64
DEVICE_UNKNOWN = 255
CURVES = 3
ROLES = 11
SPACES = 17
FRAMES_MAX = 512
ROLE_MODULES = 4
ROLE_MODULE_MAX = 160
BYTES_UNKNOWN = 2**64 - 1
NO_SEGMENT = 2**64 - 1


class Status(enum.IntEnum):
    """What went wrong: the `status` of Error."""
    OK = 0
    END = 1
    E_OPEN = 2
    E_NOT_RECORDING = 3
    E_VERSION = 4
    E_DAMAGED = 5
    E_IO = 6
    E_MEMORY = 7
    E_ARGUMENT = 8
    E_SPACE = 9
    E_BUSY = 10
    E_TRUNCATED = 11


# enum gp_curve, in the order of a gp_point
CURVE = {"driver": 0, "reserved": 1, "allocated": 2}
PINNED = 4
# enum gp_when
WHEN = {"end": 0, "time": 1, "peak": 2, "unused": 3, "oom": 4, "snapshot": 5, "order": 6}
# enum gp_kernels_by
KERNELS_BY = {"name": 0, "library": 1, "operator": 2, "line": 3, "module": 4, "range": 5, "phase": 6}
# enum gp_stack_how
STACK_HOW = {"bare": 0, "symbols": 1, "folded": 2}
# enum gp_step_source
STEP_SOURCES = ("none", "ranges", "updates", "repetition")
# enum gp_live_row_is, enum gp_block_state
BLOCK, SEGMENT, OUTSIDE = 0, 1, 2
ALLOCATED, PENDING = 1, 2
AT_PEAK = 0


class Damage(Structure):
    _c_name = "gp_damage"
    _fields_ = [("offset", c_uint64), ("block", c_uint64), ("what", c_char * 160)]


class InfoDevice(Structure):
    _c_name = "gp_info_device"
    _fields_ = [("device", c_uint), ("uuid", c_char * 48), ("name", c_char_p), ("total_bytes", c_uint64)]


class Span(Structure):
    _c_name = "gp_span"
    _fields_ = [("from_ns", c_int64), ("to_ns", c_int64)]


class InfoStruct(Structure):
    _c_name = "gp_info"
    _fields_ = [
        ("format_major", c_uint), ("format_minor", c_uint), ("pid", c_uint), ("command", c_char_p),
        ("hostname", c_char_p), ("boot_id", c_char_p), ("ring_place", c_char_p), ("start_unix_ns", c_uint64),
        ("start_mono_ns", c_uint64), ("duration_ns", c_uint64), ("kept_from_ns", c_uint64), ("is_sealed", c_bool),
        ("is_running", c_bool), ("ring_left", c_char_p), ("is_anothers", c_bool), ("is_complete", c_bool),
        ("has_hole", c_bool), ("failed_blocks", c_uint64), ("is_damaged", c_bool), ("devices", c_size_t),
        ("device", POINTER(InfoDevice)), ("threads", c_uint64), ("counts", c_uint64 * KINDS),
        ("kept", c_uint64 * KINDS), ("launches", c_uint64), ("captured_launches", c_uint64),
        ("graph_launches", c_uint64), ("lost_memory", c_uint64), ("lost_launch", c_uint64), ("lost_other", c_uint64),
        ("nested", c_uint64), ("framework_events", c_uint64), ("mismatches", c_uint64), ("anomalies", c_uint64),
        ("gaps", c_size_t), ("gap_ns", POINTER(c_int64)), ("has_gap", c_bool), ("is_late", c_bool),
        ("has_framework_late", c_bool), ("uncertains", c_size_t), ("uncertain", POINTER(Span)),
        ("has_uncertain_pinned", c_bool), ("has_uncertain_peaks", c_bool), ("stacks", c_uint64),
        ("stacks_cut", c_uint64), ("modules_cut", c_uint64), ("ranges_unnamed", c_uint64), ("names_cut", c_uint64),
        ("has_definitions_left_out", c_bool), ("nvtx_why", c_char_p), ("torch_why", c_char_p),
        ("has_node_modules", c_bool), ("no_node_modules", c_char_p), ("is_captured_in_part", c_bool),
        ("capture_rule", c_char_p), ("captures", c_uint64), ("captured_ns", c_uint64), ("captureds", c_size_t),
        ("captured", ctypes.c_void_p), ("ended_by", c_uint), ("launch_every", c_uint64), ("no_python", c_char_p),
        ("no_native", c_char_p), ("no_stacks", c_char_p), ("native_frames", c_uint64), ("named_frames", c_uint64),
        ("names_bytes", c_uint64), ("names_damage", POINTER(Damage)), ("has_old_names", c_bool),
        ("missed_routes", c_uint64), ("kept_bytes", c_uint64), ("file_bytes", c_uint64), ("segments", c_uint64),
        ("blocks", c_uint64), ("damages", c_size_t), ("damage", POINTER(Damage)), ("driver", c_char_p),
        ("pytorch", c_char_p), ("alloc_conf", c_char_p), ("launcher", c_char_p),
        ("is_allocator_requested", c_bool),
        ("allocator_why", c_char_p), ("has_async_blocks", c_bool), ("async_why", c_char_p), ("has_uses", c_bool),
        ("no_uses", c_char_p), ("uses_beyond", c_uint64), ("has_stacks", c_bool), ("has_native", c_bool),
        ("has_python", c_bool), ("has_allocator_details", c_bool), ("has_device_used", c_bool), ("has_ranges", c_bool),
        ("has_steps", c_bool), ("has_named", c_bool), ("has_backward", c_bool)]


class Use(Structure):
    _c_name = "gp_use"
    _fields_ = [
        ("stack", c_uint32), ("at_ns", c_int64), ("without", c_char_p), ("space", c_uint8), ("is_segment", c_bool),
        ("rule", c_uint8), ("range", ctypes.c_void_p), ("bytes", c_uint64), ("count", c_uint64),
        ("live_bytes", c_uint64), ("live_count", c_uint64), ("freed", c_uint64), ("short_lived", c_uint64),
        ("lives", ctypes.c_void_p)]


class Holders(Structure):
    _c_name = "gp_holders"
    _fields_ = [
        ("device", c_uint), ("of", c_int), ("at_ns", c_int64), ("live_bytes", c_uint64),
        ("uncertain_bytes", c_uint64), ("unmapped_bytes", c_uint64), ("peak_bytes", c_uint64),
        ("peak_at_ns", c_int64), ("is_overwritten", c_bool), ("uses", c_size_t), ("use", POINTER(Use)),
        ("range", ctypes.c_void_p)]


class PeakStruct(Structure):
    _c_name = "gp_peak"
    _fields_ = [("holders", c_size_t), ("holder", POINTER(Holders)), ("host", POINTER(Holders)),
                ("ranges", ctypes.c_void_p)]


class Point(Structure):
    """A row of Recording.curves(): a moment (ns since the start) and the bytes of each curve then."""
    _c_name = "gp_point"
    _c_field = {"driver": "bytes[0]", "reserved": "bytes[1]", "allocated": "bytes[2]"}
    _fields_ = [("at_ns", c_int64), ("driver", c_uint64), ("reserved", c_uint64), ("allocated", c_uint64),
                ("free_bytes", c_uint64), ("largest_free_bytes", c_uint64)]


class TimelineDevice(Structure):
    _c_name = "gp_timeline_device"
    _fields_ = [
        ("device", c_uint), ("peak_bytes", c_uint64 * CURVES), ("peak_at_ns", c_int64 * CURVES),
        ("most_unmapped_bytes", c_uint64), ("most_unmapped_at_ns", c_int64), ("points", c_size_t),
        ("point", POINTER(Point)), ("marks", c_size_t), ("mark", ctypes.c_void_p), ("ooms", c_size_t),
        ("failed_calls", c_size_t), ("has_gaps", c_bool)]


class Timeline(Structure):
    _c_name = "gp_timeline"
    _fields_ = [("devices", c_size_t), ("has_late_gaps", c_bool), ("device", POINTER(TimelineDevice)),
                ("host", POINTER(TimelineDevice))]


class KindSet(Structure):
    _c_name = "gp_kind_set"
    _fields_ = [("bits", c_uint64 * 2)]


class EventRow(Structure):
    """A row of Recording.events(). fields() has the meaning of `value` and `aux` for each kind."""
    _c_name = "gp_event_row"
    _fields_ = [("at_ns", c_int64), ("order", c_uint64), ("value", c_uint64 * 4), ("aux", c_uint32),
                ("stack", c_uint32), ("thread", c_uint32), ("tid", c_uint32), ("kind", c_uint16), ("code", c_uint16),
                ("device", c_uint8), ("space", c_uint8), ("zero", c_uint16)]


class MomentOf(Structure):
    _c_name = "gp_moment_of"
    _fields_ = [("when", c_int), ("at_ns", c_int64), ("number", c_uint64), ("device", c_uint), ("of", c_int)]


class LiveRow(Structure):
    """A row of Recording.live(): a block, a segment, or memory outside the framework."""
    _c_name = "gp_live_row"
    _c_field = {"what": "is"}
    _fields_ = [
        ("address", c_uint64), ("bytes", c_uint64), ("requested_bytes", c_uint64), ("at_ns", c_int64),
        ("order", c_uint64), ("segment", c_uint64), ("stream", c_uint64), ("pool", c_uint64), ("user_pool", c_uint64),
        ("stack", c_uint32), ("device", c_uint8), ("what", c_uint8), ("space", c_uint8), ("state", c_uint8),
        ("rule", c_uint8), ("role", c_uint8), ("has_arena", c_uint8), ("is_expandable", c_uint8),
        ("is_small", c_uint8), ("zero", c_uint8 * 3)]


class LiveRows(Structure):
    _c_name = "gp_live_rows"
    _fields_ = [("at_ns", c_int64), ("order", c_uint64), ("is_uncertain", c_bool), ("has_allocator_details", c_bool),
                ("caveat", c_char_p), ("rows", c_size_t), ("row", POINTER(LiveRow))]


class FrameStruct(Structure):
    _c_name = "gp_frame"
    _fields_ = [
        ("function", c_char_p), ("file", c_char_p), ("line", c_uint32), ("module", c_char_p),
        ("module_offset", c_uint64), ("address", c_uint64), ("unknown", c_char_p), ("is_python", c_bool),
        ("is_inlined", c_bool), ("is_interpreter", c_bool), ("is_user", c_bool)]


class StackStruct(Structure):
    _c_name = "gp_stack"
    _fields_ = [
        ("frames", c_size_t), ("missing", c_char_p), ("missing_native", c_char_p), ("is_native_whole", c_bool),
        ("is_python_whole", c_bool), ("is_python_off", c_bool), ("has_native", c_bool), ("has_python", c_bool),
        ("module", c_uint32)]


class StepRow(Structure):
    """A row of Steps.rows: moments (ns since the start), launches, and live bytes at its start."""
    _c_name = "gp_step"
    _fields_ = [("begin_ns", c_int64), ("end_ns", c_int64), ("launches", c_uint64), ("live_bytes", c_uint64)]


class StepsStruct(Structure):
    _c_name = "gp_steps"
    _fields_ = [("source", c_int), ("why", c_char_p), ("steps", c_size_t), ("step", POINTER(StepRow)),
                ("warmup", c_size_t), ("p50_ns", c_int64), ("p99_ns", c_int64), ("per_second", c_double)]


class RoleMoment(Structure):
    _c_name = "gp_role_moment"
    _fields_ = [("moment", MomentOf), ("device", c_uint)]


class RoleSums(Structure):
    _c_name = "gp_role_sums"
    _fields_ = [("at_ns", c_int64), ("bytes", c_uint64 * ROLES), ("count", c_uint64 * ROLES)]


class RuleSum(Structure):
    _c_name = "gp_rule_sum"
    _fields_ = [("bytes", c_uint64), ("count", c_uint64)]


class RoleModule(Structure):
    _c_name = "gp_role_module"
    _fields_ = [("key", c_char * ROLE_MODULE_MAX), ("sum", RuleSum)]


class RoleMakers(Structure):
    _c_name = "gp_role_makers"
    _fields_ = [("sums", RoleSums), ("module", (RoleModule * ROLE_MODULES) * ROLES)]


class Gpu(Structure):
    _c_name = "gp_gpu"
    _fields_ = [
        ("has_operations", c_bool), ("why", c_char_p), ("operations", c_size_t), ("launches", c_size_t),
        ("functions", c_size_t), ("operation", ctypes.c_void_p), ("launch", ctypes.c_void_p),
        ("function", ctypes.c_void_p), ("joined", c_uint64 * 3), ("outside", c_uint64), ("launches_alone", c_uint64),
        ("swapped", c_uint64), ("dropped", c_uint64), ("lost", c_uint64), ("beyond", c_uint64),
        ("lost_launches", c_uint64), ("windows", c_uint64), ("clock_within_ns", c_int64), ("ranges", ctypes.c_void_p)]


class KernelRow(Structure):
    _c_name = "gp_kernel_row"
    _fields_ = [
        ("key", c_char_p), ("name", c_char_p), ("is_rest", c_bool), ("count", c_uint64), ("total_ns", c_uint64),
        ("longest_ns", c_uint64), ("median_ns", c_uint64), ("p99_ns", c_uint64), ("joined", c_uint64),
        ("in_graphs", c_uint64), ("delay_ns", c_int64), ("function", c_uint32), ("device", c_uint8),
        ("occupancy", c_double), ("argument_bytes", c_uint64), ("stack", c_uint32), ("at_ns", c_int64),
        ("without", c_char_p), ("library", c_char * 128), ("typical", c_size_t)]


class Kernels(Structure):
    _c_name = "gp_kernels"
    _fields_ = [
        ("gpu", Gpu), ("rows", c_size_t), ("row", POINTER(KernelRow)), ("count", c_uint64 * 3),
        ("total_ns", c_uint64 * 3), ("busy_ns", c_uint64), ("envelope_ns", c_uint64),
        ("launches_without_stack", c_uint64), ("has_arguments", c_bool)]


class Field(Structure):
    _c_name = "gp_field"
    _fields_ = [("name", c_char_p), ("meaning", c_int)]


class EventInfo(Structure):
    _c_name = "gp_event_info"
    _fields_ = [("name", c_char_p), ("class", c_int), ("aux", Field), ("v", Field * 4)]


def structs():
    """All of them, by the name in the headers."""
    return {s._c_name: s for s in globals().values()
            if isinstance(s, type) and issubclass(s, Structure) and hasattr(s, "_c_name")}
