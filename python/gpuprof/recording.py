"""A recording and what it answers. See the module's own text for units and threads."""
import builtins
import contextlib
import ctypes
import mmap
import os
from ctypes import byref
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from . import _layout as layout
from ._layout import EventRow, LiveRow, Point, Status, StepRow
from ._library import EVENT_INFOS, KINDS, ROLES, SPACES, library, lock

ROWS_A_BATCH = 1 << 16
NAMED_MOMENTS = ("end", "peak", "unused", "oom")
Moment = Union[int, str]


class Damage(NamedTuple):
    """A damaged place: offset in the file, number of the block, and what was expected there."""
    offset: int
    block: int
    what: str


class Error(Exception):
    """A failure of the library.

    status: a Status. file: path of the recording. place: a Damage, or None if no place is known.
    """

    def __init__(self, status: Status, file: str, what: str, cause: str, place: Optional[Damage] = None):
        super().__init__("%s '%s': %s%s" % (what, file, cause, " at offset %d" % place.offset if place else ""))
        self.status = status
        self.file = file
        self.place = place


class Device(NamedTuple):
    """A GPU of the recording. name, total_bytes: None if they are not known."""
    device: int
    uuid: str
    name: Optional[str]
    total_bytes: Optional[int]


class Info(NamedTuple):
    """Facts of a recording, as `gpuprof info` prints them.

    counts: events since the start by kind; kept: those that the file still has. lost: memory, launch,
    other. uncertain: spans (from_ns, to_ns) in which events are missing. is_running: figures hold for
    the moment duration_ns.
    """
    file: str
    format: str
    command: str
    hostname: str
    pid: int
    start_unix_ns: int
    duration_ns: int
    kept_from_ns: int
    is_sealed: bool
    is_running: bool
    is_complete: bool
    is_damaged: bool
    threads: int
    devices: Tuple[Device, ...]
    counts: Dict[str, int]
    kept: Dict[str, int]
    launches: int
    captured_launches: int
    graph_launches: int
    lost: Dict[str, int]
    mismatches: int
    anomalies: int
    uncertain: Tuple[Tuple[int, int], ...]
    damages: Tuple[Damage, ...]
    driver: Optional[str]
    pytorch: Optional[str]
    allocator_settings: Optional[str]
    has_stacks: bool
    has_allocator_details: bool


class Holder(NamedTuple):
    """Memory of one stack and kind. stack: for Recording.stack(stack, at_ns); 0: none, see why."""
    stack: int
    at_ns: int
    bytes: int
    count: int
    space: str
    is_segment: bool
    why: Optional[str]


class Peak(NamedTuple):
    """The peak of a curve. device: None for the host. curve: allocated, reserved, driver, pinned.

    holders: what was live then, most bytes first. If the peak is older than the kept events,
    is_overwritten is true, and at_ns, live_bytes and holders are those of the highest kept moment.
    """
    device: Optional[int]
    curve: str
    peak_bytes: int
    peak_at_ns: int
    live_bytes: int
    at_ns: int
    is_overwritten: bool
    holders: Tuple[Holder, ...]


class Live(NamedTuple):
    """The live set at a moment. rows: a table of LiveRow. caveat: which parts are unknown, or None."""
    at_ns: int
    order: int
    is_uncertain: bool
    has_allocator_details: bool
    caveat: Optional[str]
    rows: "ctypes.Array[LiveRow]"


class Frame(NamedTuple):
    """A frame. function: None if it is not known, `why` has the reason. line: 0 if it is not known."""
    function: Optional[str]
    file: Optional[str]
    line: int
    module: Optional[str]
    address: int
    is_python: bool
    is_inlined: bool
    is_interpreter: bool
    is_user: bool
    why: Optional[str]


class Stack(NamedTuple):
    """Frames, innermost first. missing: why frames are missing, or None."""
    frames: Tuple[Frame, ...]
    missing: Optional[str]


class Role(NamedTuple):
    """Memory of one role on one device."""
    bytes: int
    count: int


class Steps(NamedTuple):
    """Steps of the job. source: none, ranges, updates, repetition. why: why there are none.

    warmup: steps at the beginning that differ. p50_ns, p99_ns: between two begins, or None. rows: a
    table of StepRow.
    """
    source: str
    why: Optional[str]
    warmup: int
    p50_ns: Optional[int]
    p99_ns: Optional[int]
    per_second: float
    rows: "ctypes.Array[StepRow]"


class Kernel(NamedTuple):
    """Kernels with one key. Times are ns on the GPU. delay_ns: median from call to begin, or None.

    is_rest: `key` is the reason for a missing one. stack: that of the launches with most time, for
    Recording.stack(stack, at_ns); 0: none.
    """
    key: str
    is_rest: bool
    count: int
    total_ns: int
    median_ns: int
    p99_ns: int
    longest_ns: int
    delay_ns: Optional[int]
    joined: int
    in_graphs: int
    device: int
    library: str
    stack: int
    at_ns: int


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "replace")


def _damage(damage: layout.Damage) -> Damage:
    return Damage(damage.offset, damage.block, damage.what.decode("utf-8", "replace"))


def _copy(row_type: type, pointer, count: int):
    """The rows as a table of their own."""
    table = (row_type * count)()
    if count:
        ctypes.memmove(table, pointer, ctypes.sizeof(table))
    return table


def fields(kind: str) -> Tuple[str, Tuple[str, ...]]:
    """The meaning of EventRow.aux and of EventRow.value[0] to [3] for a kind: '' where it has none.

    fields("alloc") is ("flags", ("address", "bytes", "stream", "owner")). docs/FORMAT.md describes the
    fields. KeyError: no such kind; KINDS has their numbers.
    """
    info = EVENT_INFOS[KINDS[kind]]
    return (info.aux.name or b"").decode(), tuple((value.name or b"").decode() for value in info.v)


def open(path: Union[str, "os.PathLike[str]"]) -> "Recording":
    """Opens a recording, as Recording(path). Raises Error."""
    return Recording(path)


class Recording:
    """An open recording; a context manager, which closes it.

    A file with a torn tail or damaged blocks still opens: see info.is_complete, info.is_damaged. Use after
    close() raises ValueError.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]):
        """Raises Error with the place of the damage, as far as one is known."""
        self.path = os.fspath(path)
        self._handle: Optional[ctypes.c_void_p] = None
        self._info: Optional[Info] = None
        self._moves = 0
        handle, why = ctypes.c_void_p(), layout.Damage()
        with lock:
            status = library.gp_recording_open(os.fsencode(self.path), byref(handle), byref(why))
        if status:
            # the cause of E_OPEN is the system's, and not at a place of the file
            found = _damage(why)
            raise Error(Status(status), str(self.path), "cannot open",
                        found.what or library.gp_status_text(status).decode(),
                        found if found.what and status != Status.E_OPEN else None)
        self._handle = handle

    def close(self) -> None:
        """Closes the file; tables stay valid. A second call does nothing."""
        with lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                library.gp_recording_close(handle)

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_error) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self) -> str:
        return "gpuprof.Recording(%r%s)" % (self.path, "" if self._handle else ", closed")

    # ---- calls ----

    def _error(self, what: str, status: int) -> Error:
        places = self._info.damages if self._info and status == Status.E_DAMAGED else ()
        return Error(Status(status), str(self.path), what, library.gp_status_text(status).decode(),
                     places[0] if places else None)

    @contextlib.contextmanager
    def _call(self, moves: bool = True) -> Iterator[ctypes.c_void_p]:
        """The handle, while no other thread uses the library. moves: the call replays events."""
        with lock:
            if self._handle is None:
                raise ValueError("'%s' is closed" % self.path)
            self._moves += moves
            yield self._handle

    def _check(self, what: str, status: int) -> None:
        if status:
            raise self._error(what, status)

    # ---- facts ----

    @property
    def info(self) -> Info:
        """Facts and counts. One replay at the first use. Raises Error."""
        with self._call(moves=self._info is None) as handle:
            if self._info is None:
                found = ctypes.POINTER(layout.InfoStruct)()
                self._check("cannot read", library.gp_recording_info(handle, byref(found)))
                self._info = self._info_of(found.contents)
            return self._info

    def _info_of(self, i: layout.InfoStruct) -> Info:
        devices = tuple(Device(d.device, d.uuid.decode(), _text(d.name), d.total_bytes or None)
                        for d in i.device[:i.devices])
        return Info(
            file=str(self.path), format="%d.%d" % (i.format_major, i.format_minor), command=_text(i.command) or "",
            hostname=_text(i.hostname) or "", pid=i.pid, start_unix_ns=i.start_unix_ns, duration_ns=i.duration_ns,
            kept_from_ns=i.kept_from_ns, is_sealed=i.is_sealed, is_running=i.is_running, is_complete=i.is_complete,
            is_damaged=i.is_damaged, threads=i.threads, devices=devices,
            counts={name: i.counts[kind] for name, kind in KINDS.items() if i.counts[kind]},
            kept={name: i.kept[kind] for name, kind in KINDS.items() if i.kept[kind]},
            launches=i.launches, captured_launches=i.captured_launches, graph_launches=i.graph_launches,
            lost={"memory": i.lost_memory, "launch": i.lost_launch, "other": i.lost_other},
            mismatches=i.mismatches, anomalies=i.anomalies,
            uncertain=tuple((span.from_ns, span.to_ns) for span in i.uncertain[:i.uncertains]),
            damages=tuple(_damage(d) for d in i.damage[:i.damages]),
            driver=_text(i.driver), pytorch=_text(i.pytorch), allocator_settings=_text(i.alloc_conf),
            has_stacks=i.has_stacks, has_allocator_details=i.has_allocator_details)

    # ---- events ----

    def batches(self, kinds: Optional[Iterable[str]] = None,
                rows: int = ROWS_A_BATCH) -> Iterator["ctypes.Array[EventRow]"]:
        """Events in exact order, as tables of EventRow with at most `rows` rows each.

        kinds: names from KINDS, as ["alloc", "free"]; None: all. Each table is a new one. Raises Error
        for a failure, also with Status.E_BUSY if another call has moved the recording meanwhile; KeyError
        for an unknown kind.
        """
        if rows < 1:
            raise ValueError("rows must be at least 1")
        wanted = self._kind_set(kinds)
        with self._call() as handle:
            self._check("cannot read", library.gp_recording_rewind(handle))
            moves = self._moves
        status = Status.OK
        while status == Status.OK:
            table, count = (EventRow * rows)(), ctypes.c_size_t()
            with self._call(moves=False) as handle:
                if self._moves != moves:
                    raise Error(Status.E_BUSY, str(self.path), "cannot read on in", "another call moved it")
                status = library.gp_recording_read_rows(handle, wanted, table, rows, byref(count))
            if count.value == rows:
                yield table
            elif count.value:
                yield _copy(EventRow, table, count.value)
        if status != Status.END:
            raise self._error("cannot read", status)

    @staticmethod
    def _kind_set(kinds: Optional[Iterable[str]]):
        if kinds is None:
            return None
        wanted = layout.KindSet()
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            wanted.bits[KINDS[kind] // 64] |= 1 << KINDS[kind] % 64
        return byref(wanted)

    def events(self, kinds: Optional[Iterable[str]] = None) -> "ctypes.Array[EventRow]":
        """All events of these kinds in exact order, as one table of EventRow: 72 bytes an event.

        As batches(), which needs less memory.
        """
        wanted = self._kind_set(kinds)
        size, used, status = ctypes.sizeof(EventRow), 0, Status.OK
        # private pages: they grow without a copy, and cost memory only once they are written
        room = mmap.mmap(-1, ROWS_A_BATCH * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with self._call() as handle:
            self._check("cannot read", library.gp_recording_rewind(handle))
            while status == Status.OK:
                rows, count = len(room) // size - used, ctypes.c_size_t()
                table = (EventRow * rows).from_buffer(room, used * size)
                status = library.gp_recording_read_rows(handle, wanted, table, rows, byref(count))
                used += count.value
                del table
                if status == Status.OK:
                    room.resize(2 * len(room))
        if status != Status.END:
            raise self._error("cannot read", status)
        room.resize(max(used * size, 1))
        return (EventRow * used).from_buffer(room) if used else (EventRow * 0)()

    # ---- moments ----

    @staticmethod
    def _device(device: Optional[int]) -> int:
        if device is not None and not 0 <= device < layout.DEVICES:
            raise ValueError("device must be 0 to %d, not %r" % (layout.DEVICES - 1, device))
        return layout.DEVICE_UNKNOWN if device is None else device

    def _moments(self, at: Moment, device: Optional[int], curve: Optional[str]) -> List[layout.MomentOf]:
        """The moments to try, one after the other, until one of them exists."""
        if curve is not None and curve not in layout.CURVE:
            raise ValueError("curve must be one of %s, not %r" % (", ".join(layout.CURVE), curve))
        if isinstance(at, str) and at not in NAMED_MOMENTS:
            raise ValueError("at must be a number of ns or one of %s, not %r" % (", ".join(NAMED_MOMENTS), at))
        when, at_ns = ("time", at) if not isinstance(at, str) else (at, 0)
        curves = [curve] if curve else ["allocated", "reserved", "driver"] if at == "peak" else ["reserved"]
        return [layout.MomentOf(layout.WHEN[when], at_ns, 0, self._device(device), layout.CURVE[of]) for of in curves]

    def live(self, at: Moment = "end", device: Optional[int] = None, curve: Optional[str] = None,
             roles: bool = False) -> Live:
        """The live set at a moment: segments, each before its blocks, and other memory of the driver.

        at: ns since the start (after the last event not later than that); "end"; "peak", of `curve` of
        `device` (None: of the first of allocated, reserved and driver that has one, and of the device with
        the highest value); "unused", the moment of most unused memory; "oom", before the first one. The
        first question in a part of the recording replays that part; later ones begin near the moment, at
        states that need up to 64 MiB. roles: LiveRow.role and rule are filled (ROLES has the names),
        which takes two or three replays; else role is 255. Raises Error: Status.END if there is no such
        moment.
        """
        out, status = layout.LiveRows(), Status.END
        with self._call() as handle:
            for moment in self._moments(at, device, curve):
                status = library.gp_live_rows_build(handle, byref(moment), roles, byref(out))
                if status != Status.END:
                    break
            self._check("no such moment in", status)
            try:
                return Live(out.at_ns, out.order, out.is_uncertain, out.has_allocator_details, _text(out.caveat),
                            _copy(LiveRow, out.row, out.rows))
            finally:
                library.gp_live_rows_free(byref(out))

    def peaks(self) -> List[Peak]:
        """The peaks of all curves, by device: allocated, reserved, driver; last pinned host memory.

        Two replays. Raises Error.
        """
        out = layout.PeakStruct()
        with self._call() as handle:
            self._check("no peaks of", library.gp_peak_build(handle, layout.AT_PEAK, 0, byref(out)))
            try:
                found = list(out.holder[:out.holders])
                return [self._peak_of(h) for h in found + ([out.host.contents] if out.host else [])]
            finally:
                library.gp_peak_free(byref(out))

    @staticmethod
    def _peak_of(h: layout.Holders) -> Peak:
        names = {number: name for name, number in layout.CURVE.items()}
        return Peak(
            device=None if h.device == layout.DEVICE_UNKNOWN else h.device, curve=names.get(h.of, "pinned"),
            peak_bytes=h.peak_bytes, peak_at_ns=h.peak_at_ns, live_bytes=h.live_bytes, at_ns=h.at_ns,
            is_overwritten=h.is_overwritten,
            holders=tuple(Holder(u.stack, u.at_ns, u.bytes, u.count, SPACES[u.space] if u.space < len(SPACES) else "",
                                 u.is_segment, _text(u.without)) for u in h.use[:h.uses]))

    def peak(self, device: Optional[int] = None, curve: Optional[str] = None) -> Optional[Peak]:
        """The peak of one curve; None if the recording has no such one.

        device: None is the one with the highest peak. curve: "allocated", "reserved", "driver" or "pinned";
        None is the first of these with a peak. Raises Error.
        """
        order = ["allocated", "reserved", "driver", "pinned"]
        if curve is not None and curve not in order:
            raise ValueError("no curve %r; expected: %s" % (curve, ", ".join(order)))
        found = [p for p in self.peaks() if (device is None or p.device == device) and curve in (None, p.curve)]
        return min(found, key=lambda p: (order.index(p.curve), -p.peak_bytes), default=None)

    def curves(self, device: int = 0, points: int = 1000, from_ns: int = 0,
               to_ns: int = 2**63 - 1) -> "ctypes.Array[Point]":
        """Curves of a device over a span, as a table of Point: at_ns, and bytes of each curve then.

        points: 16 or more; the peaks are always among them. An empty table: the device has no memory.
        One replay. Raises Error.
        """
        out = layout.Timeline()
        if points < 16:
            raise ValueError("points must be at least 16")
        with self._call() as handle:
            self._check("no curves of", library.gp_timeline_build(handle, points, from_ns, to_ns, byref(out)))
            try:
                found = [d for d in out.device[:out.devices] if d.device == device]
                return _copy(Point, found[0].point, found[0].points) if found else (Point * 0)()
            finally:
                library.gp_timeline_free(byref(out))

    def roles(self, device: int = 0, at: Moment = "peak", curve: str = "allocated") -> Dict[str, Role]:
        """Blocks of the framework at a moment, by what they hold: {"weights": Role(bytes, count), ...}.

        at: as of live(). Their sum is the curve `allocated` then. Three replays. Raises Error: Status.END if
        there is no such moment.
        """
        at_one = layout.RoleMoment(self._moments(at, device, curve)[0], self._device(device))
        out = layout.RoleMakers()
        with self._call() as handle:
            self._check("no roles in", library.gp_role_sums_build(handle, byref(at_one), 1, byref(out)))
        return {name: Role(out.sums.bytes[k], out.sums.count[k]) for k, name in enumerate(ROLES) if out.sums.count[k]}

    # ---- stacks, steps, kernels ----

    def stack(self, stack: int, at_ns: int, how: str = "folded") -> Optional[Stack]:
        """The frames of a `stack` of a row, innermost first; None if the recording does not have it.

        at_ns: that of the same row, since it decides which library was mapped where. how: "folded" leaves
        frames of the interpreter out, "symbols" does not, "bare" looks no names up. The first stack of a
        library reads its symbols, which can take seconds. Stack 0 has no frames.
        """
        found, frames = layout.StackStruct(), (layout.FrameStruct * layout.FRAMES_MAX)()
        if how not in layout.STACK_HOW:
            raise ValueError("how must be 'folded', 'symbols' or 'bare', not %r" % how)
        with self._call(moves=False) as handle:
            if not stack:
                return Stack((), None)

            def find() -> bool:
                return library.gp_recording_stack(handle, stack, at_ns, layout.STACK_HOW[how], byref(found), frames,
                                                  layout.FRAMES_MAX)
            # stacks are defined between the events, so all of these must have been read; info reads them once
            if (not self._moves or not find()) and (self.info is None or not find()):
                return None
            return Stack(tuple(Frame(
                _text(f.function), _text(f.file), f.line, _text(f.module), f.address, f.is_python, f.is_inlined,
                f.is_interpreter, f.is_user, _text(f.unknown)) for f in frames[:found.frames]),
                _text(found.missing if how == "folded" else found.missing_native))

    def steps(self) -> Steps:
        """The steps of the job (iterations of its loop). One replay at the first use. Raises Error."""
        out = layout.StepsStruct()
        with self._call() as handle:
            self._check("no steps of", library.gp_steps_find(handle, byref(out)))
            try:
                return Steps(layout.STEP_SOURCES[out.source], _text(out.why), out.warmup,
                             out.p50_ns if out.p50_ns >= 0 else None, out.p99_ns if out.p99_ns >= 0 else None,
                             out.per_second, _copy(StepRow, out.step, out.steps))
            finally:
                library.gp_steps_free(byref(out))

    def kernels(self, by: str = "name", device: Optional[int] = None) -> List[Kernel]:
        """Kernels that the GPU ran, costliest first; [] if the recording has no GPU time (--gpu-time).

        by: "name", "library", "operator", "line", "module", "range" or "phase". Raises Error.
        """
        out = layout.Kernels()
        if by not in layout.KERNELS_BY:
            raise ValueError("by must be one of %s, not %r" % (", ".join(layout.KERNELS_BY), by))
        which = self._device(device)
        with self._call() as handle:
            try:
                self._check("no kernels of", library.gp_kernels_build(handle, layout.KERNELS_BY[by], -2**63, 2**63 - 1,
                                                                   which, byref(out)))
                return [Kernel(
                    _text(k.key) or "", k.is_rest, k.count, k.total_ns, k.median_ns, k.p99_ns, k.longest_ns,
                    k.delay_ns if k.delay_ns >= 0 else None, k.joined, k.in_graphs, k.device,
                    k.library.decode("utf-8", "replace"), k.stack, k.at_ns) for k in out.row[:out.rows]]
            finally:
                library.gp_kernels_free(byref(out))
