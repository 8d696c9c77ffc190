/**
 * Exact extremes of any span of time, without a look at each event: a tree of extremes over blocks
 * of values, curves on top of it, and bands of stacked memory with checkpoints.
 */
import { placeAfter } from "./lives.js";

const BRANCHES = 16;
/** Events between two checkpoints of bands: the bits of a word, which has a bit for each. A column
 * of the picture replays at most three such spans for its highest total. */
const CHECKPOINT = 32;
/** Of so many checkpoints, one has the sums of bands. A column replays at most that many spans for
 * its bands. */
const SUMS = 8;
/** Births that are left out together in a search for live blocks. */
const BIRTHS = 256;

/** The place of the highest value in any part of a list. */
export class Highest {
	/** @param {Float64Array} values @param {1 | -1} sign -1: the lowest value instead
	 * @param {Uint32Array | Float64Array | null} drop what is subtracted from each */
	constructor(values, sign = 1, drop = null) {
		/** @type {Float64Array} */
		this.values = values;
		/** @type {Uint32Array | Float64Array | null} */
		this.drop = drop;
		/** @type {number} */
		this.sign = sign;
		/** @type {Uint32Array[]} Places of extremes; level k covers BRANCHES^(k+1) values. */
		this.levels = [];
		for (let count = values.length; count > 1;) {
			const below = this.levels.at(-1);
			const here = new Uint32Array(Math.ceil(count / BRANCHES));
			for (let k = 0; k < count; k++) {
				const place = below ? below[k] : k;
				const at = Math.floor(k / BRANCHES);
				if (k % BRANCHES === 0 || this.isMore(place, here[at])) here[at] = place;
			}
			this.levels.push(here);
			count = here.length;
		}
	}

	/** @param {number} place */
	at(place) {
		return this.drop ? this.values[place] - this.drop[place] : this.values[place];
	}

	/** @param {number} a @param {number} b */
	isMore(a, b) {
		return this.sign * this.at(a) > this.sign * this.at(b);
	}

	/** The first place of the extreme in [from, to), which is not empty.
	 * @param {number} from @param {number} to */
	find(from, to) {
		let best = from;
		/** @param {number} place */
		const look = (place) => {
			if (this.isMore(place, best) || (!this.isMore(best, place) && place < best)) {
				best = place;
			}
		};
		for (let level = -1; from < to; level++) {
			const places = this.levels[level];
			const is_top = level + 1 >= this.levels.length;
			while (from < to && (is_top || from % BRANCHES)) look(places ? places[from++] : from++);
			while (from < to && to % BRANCHES) look(places ? places[--to] : --to);
			from /= BRANCHES;
			to /= BRANCHES;
		}
		return best;
	}
}

/** A curve of one device. */
export class Curve {
	/** @param {ReturnType<typeof import("./decode.js").decodeCurve>} points */
	constructor({ time, high, drop }) {
		this.time = time;
		this.highest = new Highest(high);
		this.lowest = new Highest(high, -1, drop);
	}

	/** The points of [from_ns, to_ns). @param {number} from_ns @param {number} to_ns */
	points(from_ns, to_ns) {
		const { time } = this;
		const begin = Math.max(0, placeAfter(time, from_ns, 0, time.length) - 1);
		return [begin, placeAfter(time, Math.max(from_ns, to_ns - 1), begin, time.length)];
	}

	/** Highest value in [from_ns, to_ns); NaN before the first point.
	 * @param {number} from_ns @param {number} to_ns */
	highIn(from_ns, to_ns) {
		const [begin, end] = this.points(from_ns, to_ns);
		return begin < end ? this.highest.at(this.highest.find(begin, end)) : NaN;
	}

	/** The value after the last point at or before a moment. Null: there is none, or the point is a
	 * span with several values. @param {number} moment */
	valueAt(moment) {
		const place = placeAfter(this.time, moment, 0, this.time.length) - 1;
		if (place < 0) return null;
		const value = this.highest.at(place);
		return value === this.lowest.at(place) ? value : null;
	}

	/** Highest and lowest value in [from_ns, to_ns), and a moment of the highest.
	 * Null before the first point.
	 * @param {number} from_ns @param {number} to_ns */
	range(from_ns, to_ns) {
		const [begin, end] = this.points(from_ns, to_ns);
		if (begin >= end) return null;
		const place = this.highest.find(begin, end);
		return {
			high: this.highest.at(place),
			low: this.lowest.at(this.lowest.find(begin, end)),
			at_ns: Math.max(from_ns, this.time[place]),
		};
	}
}

/**
 * Sums of selected lives by band over time. State s is the memory after s births and deaths. At
 * equal times deaths come first, so a state between two events of one time is never higher than
 * the states around them.
 */
export class Bands {
	/** @param {import("./lives.js").Lives} lives
	 * @param {{ births: Uint32Array, deaths: Uint32Array }} events
	 * @param {Uint8Array} band_of_life @param {number} band_count */
	constructor(lives, events, band_of_life, band_count) {
		this.lives = lives;
		this.births = events.births;
		this.deaths = events.deaths;
		this.bandOfLife = band_of_life;
		this.bandCount = band_count;
		this.eventCount = this.births.length + this.deaths.length;
		this.foundState = 0;
		const checkpoints = Math.floor(this.eventCount / CHECKPOINT) + 1;
		/** For each state a bit: does a birth end it? */
		this.isBirth = new Uint32Array(checkpoints);
		this.bornAt = new Uint32Array(checkpoints);
		/** When the state of the checkpoint began. */
		this.timeAt = new Float64Array(checkpoints);
		this.totalAt = new Float64Array(checkpoints);
		this.sumsAt = new Float64Array(Math.ceil(checkpoints / SUMS) * band_count);
		this.highest = new Highest(this.build(checkpoints));
		/** The last death among each BIRTHS births: most have no life that is still live. */
		this.lastDeath = new Float64Array(Math.ceil(this.births.length / BIRTHS));
		this.births.forEach((life, k) => {
			const place = Math.floor(k / BIRTHS);
			this.lastDeath[place] = Math.max(this.lastDeath[place], lives.death[life]);
		});
	}

	/** Fills the checkpoints; returns the highest total of each. @param {number} checkpoints */
	build(checkpoints) {
		const totals = new Float64Array(checkpoints);
		const sums = new Float64Array(this.bandCount);
		let total = 0;
		let born = 0;
		let at_ns = -Infinity;
		for (let state = 0; ; state++) {
			const checkpoint = Math.floor(state / CHECKPOINT);
			if (state % CHECKPOINT === 0) {
				this.bornAt[checkpoint] = born;
				this.timeAt[checkpoint] = at_ns;
				this.totalAt[checkpoint] = total;
				if (checkpoint % SUMS === 0) {
					this.sumsAt.set(sums, (checkpoint / SUMS) * this.bandCount);
				}
			}
			if (total > totals[checkpoint]) totals[checkpoint] = total;
			if (state === this.eventCount) return totals;
			const is_birth = this.isBirthNext(born, state - born);
			const life = is_birth ? this.births[born++] : this.deaths[state - born];
			if (is_birth) this.isBirth[checkpoint] |= 1 << (state % CHECKPOINT);
			const change = is_birth ? this.lives.bytes[life] : -this.lives.bytes[life];
			at_ns = is_birth ? this.lives.birth[life] : this.lives.death[life];
			sums[this.bandOfLife[life]] += change;
			total += change;
		}
	}

	/** Does a birth end a state? @param {number} state */
	isBirthAt(state) {
		return ((this.isBirth[Math.floor(state / CHECKPOINT)] >>> (state % CHECKPOINT)) & 1) === 1;
	}

	/** Is the next event a birth, after these numbers of births and deaths?
	 * @param {number} born @param {number} dead */
	isBirthNext(born, dead) {
		return dead >= this.deaths.length || (born < this.births.length &&
			this.lives.birth[this.births[born]] < this.lives.death[this.deaths[dead]]);
	}

	/** The state at a moment, after all its events. @param {number} moment */
	stateAt(moment) {
		const { births, deaths, bornAt } = this;
		const { birth, death } = this.lives;
		const checkpoint = placeAfter(this.timeAt, moment, 0, bornAt.length) - 1;
		const born = bornAt[checkpoint];
		const dead = checkpoint * CHECKPOINT - born;
		const [born_end, dead_end] = [born + CHECKPOINT, dead + CHECKPOINT];
		return placeAfter(birth, moment, born, Math.min(births.length, born_end), births) +
			placeAfter(death, moment, dead, Math.min(deaths.length, dead_end), deaths);
	}

	/** The highest total of the states [from, to], if it is above `least`; its state is kept. Else
	 * `least`. @param {number} from a state with the checkpoint of `to` @param {number} to
	 * @param {number} least */
	highestIn(from, to, least) {
		const { births, deaths } = this;
		const { bytes } = this.lives;
		const checkpoint = Math.floor(to / CHECKPOINT);
		const bits = this.isBirth[checkpoint];
		let total = this.totalAt[checkpoint];
		let born = this.bornAt[checkpoint];
		let dead = checkpoint * CHECKPOINT - born;
		for (let state = checkpoint * CHECKPOINT; ; state++) {
			if (state >= from && total > least) {
				least = total;
				this.foundState = state;
			}
			if (state >= to) return least;
			total += (bits >>> (state % CHECKPOINT)) & 1 ? bytes[births[born++]]
				: -bytes[deaths[dead++]];
		}
	}

	/** The sums of the bands at a state. @param {number} to @param {Float64Array} out */
	sumsOf(to, out) {
		const { births, deaths, bandOfLife, bandCount } = this;
		const { bytes } = this.lives;
		const place = Math.floor(to / (CHECKPOINT * SUMS));
		let born = this.bornAt[place * SUMS];
		let dead = place * SUMS * CHECKPOINT - born;
		for (let k = 0; k < bandCount; k++) out[k] = this.sumsAt[place * bandCount + k];
		for (let state = place * SUMS * CHECKPOINT; state < to; state++) {
			if (this.isBirthAt(state)) {
				const life = births[born++];
				out[bandOfLife[life]] += bytes[life];
			} else {
				const life = deaths[dead++];
				out[bandOfLife[life]] -= bytes[life];
			}
		}
	}

	/** Sums of the bands in the highest state of [from_ns, to_ns), in `out`. Returns their total.
	 * @param {number} from_ns @param {number} to_ns @param {Float64Array} out */
	peakIn(from_ns, to_ns, out) {
		const from = this.stateAt(from_ns);
		const to = Math.max(from, this.stateAt(to_ns - 1));
		const first = Math.floor(from / CHECKPOINT);
		const last = Math.floor(to / CHECKPOINT);
		this.foundState = from;
		let most = this.highestIn(from, first === last ? to : (first + 1) * CHECKPOINT - 1, -1);
		if (first + 1 < last) {
			const place = this.highest.find(first + 1, last);
			if (this.highest.values[place] > most) {
				most = this.highestIn(place * CHECKPOINT, (place + 1) * CHECKPOINT - 1, most);
			}
		}
		if (first < last) most = this.highestIn(last * CHECKPOINT, to, most);
		this.sumsOf(this.foundState, out);
		return Math.max(0, most);
	}

	/** Numbers of births and deaths before a state. @param {number} state */
	countsAt(state) {
		const checkpoint = Math.floor(state / CHECKPOINT);
		let born = this.bornAt[checkpoint];
		for (let k = checkpoint * CHECKPOINT; k < state; k++) born += Number(this.isBirthAt(k));
		return { born, dead: state - born };
	}

	/** Calls `visit` for each life that is live in a state, in the order of births, until it returns
	 * false.
	 * @param {number} state @param {(life: number) => boolean | void} visit */
	visitLive(state, visit) {
		const { births, deaths } = this;
		const { death } = this.lives;
		const { born, dead } = this.countsAt(state);
		const last = dead ? death[deaths[dead - 1]] : -1;
		const gone = new Set();
		for (let k = dead - 1; k >= 0 && death[deaths[k]] === last; k--) gone.add(deaths[k]);
		for (let begin = 0; begin < born; begin += BIRTHS) {
			if (this.lastDeath[begin / BIRTHS] < last) continue;
			for (let k = begin; k < Math.min(born, begin + BIRTHS); k++) {
				const life = births[k];
				const is_live = death[life] > last || (death[life] === last && !gone.has(life));
				if (is_live && visit(life) === false) return;
			}
		}
	}

	/** The event that ends a state. @param {number} state */
	eventAfter(state) {
		const { born, dead } = this.countsAt(state);
		const is_birth = this.isBirthAt(state);
		const life = is_birth ? this.births[born] : this.deaths[dead];
		return { life, is_birth, at_ns: is_birth ? this.lives.birth[life] : this.lives.death[life] };
	}

	/** The time since which a state holds; 0 for the state before all events.
	 * @param {number} state */
	timeOf(state) {
		return state ? this.eventAfter(state - 1).at_ns : 0;
	}
}
