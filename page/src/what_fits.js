/**
 * Requests that PyTorch's allocator could serve at a moment, and the blocks that pin free memory.
 * These are the rules and the order of checks of libgpuprof/analyze/frag, so the figures are those
 * of `gpuprof frag --at`. Bytes; null: not known.
 */
import { segmentsAt } from "./segment_map.js";

/** @typedef {import("./report.js").LivesHeader} LivesHeader */
/** @typedef {import("./report.js").Allocator} Allocator */
/** @typedef {import("./segment_map.js").Segment} Segment */
/** @typedef {{ from: number, bytes: number, life: number, is_pending: boolean }} Tile */
/** @typedef {Segment & { tiles: Tile[], place: number, is_small: boolean }} Room A segment with its
 *     blocks by address; `place`: number of its arena. */
/** @typedef {{ from: number, bytes: number }} Run Free memory; `from`: offset in the segment. */
/** @typedef {{ bytes: number, free: number | null, limit_room: number }} Released */

const MIB = 2 ** 20;
const UNIT = 512;
const SMALL_MOST = MIB;
const SMALL_SEGMENT = 2 * MIB;
const LARGE_ALONE = 10 * MIB;
const BUCKET_FIRST = 20;
/** Ranges with a larger distance belong to two reservations. */
const APART = 2 ** 40;

/* ---- sizes ---- */

/** Sizes in the power of two that contains `bytes` are multiples of this.
 * @param {Allocator} settings @param {number} bytes */
function stepAt({ roundup_divisions: divisions }, bytes) {
	if (bytes < UNIT) return UNIT;
	const log = Math.floor(Math.log2(bytes));
	const bucket = Math.min(divisions.length - 1, Math.max(0, log - BUCKET_FIRST));
	const parts = divisions[bucket];
	if (parts <= 1 || bytes <= UNIT * parts) return UNIT;
	return 2 ** (log - Math.floor(Math.log2(parts)));
}

/** The largest rounded size that is at most `bytes`.
 * @param {Allocator} settings @param {number} bytes */
const floorOf = (settings, bytes) => bytes - (bytes % stepAt(settings, bytes));

/** The bytes to request from the driver for a new segment.
 * @param {Allocator} settings @param {number} rounded */
function segmentOf(settings, rounded) {
	if (rounded <= SMALL_MOST) return SMALL_SEGMENT;
	if (rounded < LARGE_ALONE) return settings.large_segment_bytes;
	return Math.ceil(rounded / SMALL_SEGMENT) * SMALL_SEGMENT;
}

/** Does the allocator take the smallest free block that is large enough?
 * @param {Allocator} settings @param {number} rounded @param {number} block */
function takes({ max_split_bytes, max_non_split_rounding }, rounded, block) {
	const split = max_split_bytes ?? Infinity;
	if (rounded < split) return block < split || split === Infinity;
	return block - rounded < max_non_split_rounding;
}

/** The largest block of at most `most` bytes whose new segment needs at most `room`; 0: none.
 * @param {Allocator} settings @param {number} most @param {number} room */
function largestNew(settings, most, room) {
	const whole = room === Infinity ? room : room - (room % SMALL_SEGMENT);
	for (const tried of [whole, LARGE_ALONE - UNIT, SMALL_MOST]) {
		const bytes = floorOf(settings, Math.min(tried, most));
		if (bytes && segmentOf(settings, bytes) <= room) return bytes;
	}
	return 0;
}

/** The unit in which expandable segments are mapped. @param {Allocator} settings
 * @param {boolean} is_small */
const pageOf = (settings, is_small) => (is_small ? SMALL_SEGMENT : settings.large_segment_bytes);

/** The bytes of whole pages in [from, to). @param {number} from @param {number} to
 * @param {number} page */
const pagesIn = (from, to, page) =>
	Math.max(0, Math.floor(to / page) - Math.ceil(from / page)) * page;

/* ---- free memory ---- */

/** The free runs of a segment. @param {Room} segment
 * @param {boolean} waits do blocks that other streams still use count as free?
 * @returns {Run[]} */
function runsOf(segment, waits) {
	/** @type {Run[]} */
	const runs = [];
	let at = 0;
	for (const { from, bytes, is_pending } of segment.tiles) {
		if (waits && is_pending) continue;
		if (from > at) runs.push({ from: at, bytes: from - at });
		at = from + bytes;
	}
	if (at < segment.bytes) runs.push({ from: at, bytes: segment.bytes - at });
	return runs;
}

/** The largest request that free blocks of one pool serve; 0: none. A request takes the smallest
 * block that is large enough, and only that one is tried.
 * @param {Allocator} settings @param {Room[]} segments @param {boolean} is_small */
function largestCached(settings, segments, is_small) {
	const sizes = segments.flatMap((segment) => runsOf(segment, false).map(({ bytes }) => bytes))
		.sort((a, b) => a - b);
	for (let k = sizes.length - 1; k >= 0; k--) {
		const bytes = floorOf(settings, is_small ? Math.min(sizes[k], SMALL_MOST) : sizes[k]);
		const is_of_smaller = k > 0 && bytes <= sizes[k - 1];
		if (bytes && !is_of_smaller && (is_small || bytes > SMALL_MOST) &&
			takes(settings, bytes, sizes[k])) return bytes;
	}
	return 0;
}

/** The bytes of a segment that a release returns to the driver.
 * @param {Allocator} settings @param {Room} segment @param {boolean} is_private */
function releasable(settings, segment, is_private) {
	if (is_private) return 0;
	const runs = runsOf(segment, true);
	if (!segment.is_part) return runs[0]?.bytes === segment.bytes ? segment.bytes : 0;
	const page = pageOf(settings, segment.is_small);
	return runs.reduce((sum, { from, bytes }) => sum + pagesIn(from, from + bytes, page), 0);
}

/* ---- new memory ---- */

/** Stretches of addresses between two held blocks: free, then unmapped, then free. New pages go to
 * the lowest stretch that is long enough.
 * @param {Allocator} settings @param {Room[]} segments expandable ones of one pool
 * @param {boolean} is_private */
function stretchesOf(settings, segments, is_private) {
	/** @type {{ before: number, unmapped: number, behind: number }[]} */
	const stretches = [];
	let open = { before: 0, unmapped: 0, behind: 0 };
	const end = () => {
		if (open.unmapped) stretches.push(open);
		open = { before: 0, unmapped: 0, behind: 0 };
	};
	const addFree = (/** @type {number} */ bytes) => {
		if (open.unmapped) open.behind += bytes;
		else open.before += bytes;
	};
	const addUnmapped = (/** @type {number} */ bytes) => {
		if (bytes && open.behind) {
			const next = { before: open.behind, unmapped: 0, behind: 0 };
			end();
			open = next;
		}
		open.unmapped += bytes;
	};
	const addRun = (/** @type {Run} */ { from, bytes }, /** @type {number} */ page) => {
		const to = from + bytes;
		const first = Math.ceil(from / page) * page;
		const last = to - (to % page);
		if (is_private || last <= first) return addFree(bytes);
		addFree(first - from);
		addUnmapped(last - first);
		return addFree(to - last);
	};
	segments.forEach((segment, k) => {
		const before = segments[k - 1];
		if (before) {
			const hole = segment.address - before.address - before.bytes;
			addUnmapped(hole < APART ? hole : Infinity);
			if (hole >= APART) end();
		}
		let at = 0;
		for (const run of runsOf(segment, true)) {
			if (run.from > at) end();
			addRun(run, pageOf(settings, segment.is_small));
			at = run.from + run.bytes;
		}
		if (at < segment.bytes) end();
	});
	addUnmapped(Infinity);
	end();
	return stretches;
}

/** The largest block that the driver can serve after a release; 0: none.
 * @param {Allocator} settings @param {Room[]} segments of the pool @param {boolean} is_small
 * @param {boolean} is_private @param {Released & { free: number }} released */
function largestReleased(settings, segments, is_small, is_private, { free, limit_room }) {
	const expandable = segments.filter(({ is_part }) => is_part);
	const is_mapped = expandable.length > 0 || (!segments.length && settings.is_expandable);
	if (!is_mapped) {
		const bytes = largestNew(settings, is_small ? SMALL_MOST : Infinity,
			Math.min(free, limit_room));
		return bytes <= SMALL_MOST === is_small ? bytes : 0;
	}
	let best = 0;
	let below = 0;
	const page = pageOf(settings, is_small);
	for (const { before, unmapped, behind } of stretchesOf(settings, expandable, is_private)) {
		const mapped = free - (free % page);
		const reach = mapped >= unmapped ? before + unmapped + behind : before + mapped;
		const bytes = largestNew(settings, is_small ? Math.min(reach, SMALL_MOST) : reach, limit_room);
		if (bytes <= SMALL_MOST === is_small && bytes > below) best = Math.max(best, bytes);
		below = Math.max(below, before + unmapped + behind);
	}
	return best;
}

/* ---- the answer ---- */

/** Segments with their blocks by address. A block that reaches beyond its segment is cut.
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {Segment[]} segments
 * @returns {Room[]} */
function roomsOf(header, lives, segments) {
	const arenaOf = (/** @type {number} */ life) => header.groups.arena?.[lives.group[life]] ?? 0;
	return segments.map((segment) => {
		const { address, bytes } = segment;
		const tiles = [...segment.blocks, ...segment.pending].map((life) => ({
			from: lives.address[life] - address, life, is_pending: false,
			bytes: Math.min(lives.bytes[life], address + bytes - lives.address[life]) }))
			.sort((a, b) => a.from - b.from);
		const pending = new Set(segment.pending);
		for (const tile of tiles) tile.is_pending = pending.has(tile.life);
		const place = segment.arena || tiles.map(({ life }) => arenaOf(life))
			.findLast((arena) => arena > 0) || 0;
		return { ...segment, tiles, place, is_small: segment.part_bytes <= SMALL_SEGMENT };
	});
}

/** The first arena of the default pool with most bytes in blocks.
 * @param {Room[]} rooms @param {(arena: number) => boolean} isPrivate */
function homeOf(rooms, isPrivate) {
	const bytes = new Map([[0, 0]]);
	for (const { place, used } of rooms) bytes.set(place, (bytes.get(place) ?? 0) + used + 1);
	let home = 0;
	let most = 0;
	for (const [place, sum] of bytes) {
		if (!isPrivate(place) && sum > most) [home, most] = [place, sum];
	}
	return home;
}

/** Blocks with free memory beside them, most of it first. @param {Room[]} rooms */
function pinsOf(rooms) {
	/** @type {{ room: Room, life: number, is_pending: boolean, keeps: number }[]} */
	const pins = [];
	for (const room of rooms) {
		let at = 0;
		let last = null;
		for (const { from, bytes, life, is_pending } of room.tiles) {
			if (last) last.keeps += from - at;
			last = { room, life, is_pending, keeps: from - at };
			pins.push(last);
			at = from + bytes;
		}
		if (last) last.keeps += room.bytes - at;
	}
	/* the order of equal ones is that of their addresses */
	return pins.filter(({ keeps }) => keeps > 0).sort((a, b) => b.keeps - a.keeps);
}

/** The driver's free memory at a moment, and what PyTorch may reserve.
 * @param {import("./report.js").Capacity | undefined} capacity @param {number} moment */
function capacityAt(capacity, moment) {
	const used = capacity?.used?.valueAt(moment) ?? null;
	return {
		free: capacity?.total_bytes && used !== null ? capacity.total_bytes - used : null,
		limit: capacity?.limit?.valueAt(moment) ?? null,
	};
}

/** What fits at a moment, and pins. Null: the data of the page have no allocator settings.
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {number} device
 * @param {number} moment @param {import("./report.js").Capacity | undefined} capacity */
export function whatFits(header, lives, device, moment, capacity) {
	const { free, limit } = capacityAt(capacity, moment);
	const settings = header.allocator;
	const arenas = header.arenas;
	if (!settings || !arenas) return null;
	const { segments, outside } = segmentsAt(header, lives, device, moment);
	const rooms = roomsOf(header, lives, segments);
	const isPrivate = (/** @type {number} */ arena) =>
		arenas[arena]?.pool?.some((half) => half !== 0) ?? false;
	const home = homeOf(rooms, isPrivate);
	const list = [...new Set(rooms.map(({ place }) => place))].flatMap((place) =>
		[false, true].map((is_small) => ({ place, is_small,
			rooms: rooms.filter((room) => room.place === place && room.is_small === is_small) })))
		.filter((pool) => pool.rooms.length);
	const sum = (/** @type {Room[]} */ some, /** @type {(room: Room) => number} */ of) =>
		some.reduce((all, room) => all + of(room), 0);
	const released = (/** @type {Room} */ room) => releasable(settings, room, isPrivate(room.place));
	const pendingOf = (/** @type {Room} */ { tiles }) => tiles.reduce((all, tile) =>
		all + (tile.is_pending ? tile.bytes : 0), 0);
	const pools = list.map(({ place, is_small, rooms: some }) => {
		const gaps = some.flatMap((room) => runsOf(room, false).map(({ bytes }) => bytes));
		return {
			place, is_small, segments: some.length, stream: arenas[place].stream,
			pool: arenas[place].pool, is_expandable: some.some(({ is_part }) => is_part),
			gaps: gaps.length,
			reserved: sum(some, ({ bytes }) => bytes), allocated: sum(some, ({ used }) => used),
			pending: sum(some, pendingOf), free: gaps.reduce((all, bytes) => all + bytes, 0),
			largest_gap: gaps.reduce((most, bytes) => Math.max(most, bytes), 0),
			largest: largestCached(settings, some, is_small), releasable: sum(some, released),
		};
	});
	const reserved = sum(rooms, ({ bytes }) => bytes);
	const bytes = sum(rooms, released);
	const left = reserved - bytes;
	const limit_room = limit === null ? Infinity : Math.max(0, limit - left);
	const largest = pools.filter(({ place }) => place === home)
		.reduce((most, pool) => Math.max(most, pool.largest), 0);
	let after = null;
	let is_bound = false;
	if (free !== null) {
		const now = { bytes, free: free + bytes, limit_room };
		after = [false, true].reduce((most, is_small) => Math.max(most, largestReleased(settings,
			rooms.filter((room) => room.place === home && room.is_small === is_small), is_small,
			isPrivate(home), now)), largest);
		is_bound = after > largest && limit_room >= now.free;
	}
	return {
		reserved, outside, driver_free: free, releasable: bytes, pools,
		allocated: sum(rooms, ({ used }) => used),
		stream: arenas[home].stream, largest, after, is_bound, pins: pinsOf(rooms),
		largest_any: pools.reduce((most, pool) => Math.max(most, pool.largest), 0),
	};
}

const SIEVE = 65536;

/** How long ago the memory of lives was allocated: several lives may have one order.
 * `is_least`: the allocation is older than the data.
 * @param {LivesHeader} header @param {import("./lives.js").Lives} lives @param {number[]} chosen
 * @param {number} moment */
export function agesOf(header, lives, chosen, moment) {
	const { birth, order } = lives;
	const births = new Map(chosen.map((life) => [order[life], moment]));
	/* of millions of lives, most need no look into the map */
	const sieve = new Uint8Array(SIEVE);
	for (const life of chosen) sieve[order[life] % SIEVE] = 1;
	const born = lives.bornBy(moment);
	for (let life = 0; life < born; life++) {
		if (sieve[order[life] % SIEVE] && births.get(order[life]) === moment) {
			births.set(order[life], birth[life]);
		}
	}
	return chosen.map((life) => {
		const since = births.get(order[life]) ?? moment;
		return { age_ns: moment - since, is_least: since === header.from_ns && since > 0 };
	});
}
