/**
 * Exact extremes of any span of time, without a look at each event: a tree of extremes over blocks
 * of values, curves on top of it, and bands of stacked memory with checkpoints.
 */
import { upperBound } from "./lives.js";

const BRANCHES = 16;
/** Events between two checkpoints of bands. A column of the picture replays at most three such
 * spans: 1,200 columns take some 3 ms. */
const CHECKPOINT = 64;

/** The place of the highest value in any part of a list. */
export class Highest {
	/** @param {Float64Array} values @param {1 | -1} sign -1: the lowest value instead */
	constructor(values, sign = 1) {
		/** @type {Float64Array} */
		this.values = values;
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

	/** @param {number} a @param {number} b */
	isMore(a, b) {
		return this.sign * this.values[a] > this.sign * this.values[b];
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
	/** @param {{ time: Float64Array, high: Float64Array, low: Float64Array }} points */
	constructor({ time, high, low }) {
		this.time = time;
		this.highest = new Highest(high);
		this.lowest = new Highest(low, -1);
	}

	/** Highest and lowest value in [from_ns, to_ns), and a moment of the highest.
	 * Null before the first point.
	 * @param {number} from_ns @param {number} to_ns */
	range(from_ns, to_ns) {
		const at = (/** @type {number} */ k) => this.time[k];
		const begin = Math.max(0, upperBound(this.time.length, at, from_ns) - 1);
		const end = upperBound(this.time.length, at, Math.max(from_ns, to_ns - 1));
		if (begin >= end) return null;
		const place = this.highest.find(begin, end);
		return {
			high: this.highest.values[place],
			low: this.lowest.values[this.lowest.find(begin, end)],
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
	 * @param {Uint8Array} band_of_group @param {number} band_count */
	constructor(lives, events, band_of_group, band_count) {
		this.lives = lives;
		this.births = events.births;
		this.deaths = events.deaths;
		this.bandOfGroup = band_of_group;
		this.bandCount = band_count;
		this.eventCount = this.births.length + this.deaths.length;
		this.replayed = new Float64Array(band_count);
		const checkpoints = Math.floor(this.eventCount / CHECKPOINT) + 1;
		this.bornAt = new Uint32Array(checkpoints);
		this.sumsAt = new Float64Array(checkpoints * band_count);
		this.highest = new Highest(this.build(checkpoints));
	}

	/** Fills the checkpoints; returns the highest total of each. @param {number} checkpoints */
	build(checkpoints) {
		const totals = new Float64Array(checkpoints);
		const sums = this.replayed.fill(0);
		let total = 0;
		let born = 0;
		for (let state = 0; ; state++) {
			const checkpoint = Math.floor(state / CHECKPOINT);
			if (state % CHECKPOINT === 0) {
				this.bornAt[checkpoint] = born;
				this.sumsAt.set(sums, checkpoint * this.bandCount);
			}
			if (total > totals[checkpoint]) totals[checkpoint] = total;
			if (state === this.eventCount) return totals;
			const is_birth = this.isBirth(born, state - born);
			const life = is_birth ? this.births[born++] : this.deaths[state - born];
			const change = is_birth ? this.lives.bytes[life] : -this.lives.bytes[life];
			sums[this.bandOfGroup[this.lives.group[life]]] += change;
			total += change;
		}
	}

	/** Is the next event a birth, after these numbers of births and deaths?
	 * @param {number} born @param {number} dead */
	isBirth(born, dead) {
		return dead >= this.deaths.length || (born < this.births.length &&
			this.lives.birth[this.births[born]] < this.lives.death[this.deaths[dead]]);
	}

	/** The state at a moment, after all its events. @param {number} moment */
	stateAt(moment) {
		return upperBound(this.births.length, (k) => this.lives.birth[this.births[k]], moment) +
			upperBound(this.deaths.length, (k) => this.lives.death[this.deaths[k]], moment);
	}

	/** Replays the states of [from, to], which lie at one checkpoint, and copies the sums of the
	 * highest into `out` if it is above `least`. Returns that total, or `least`.
	 * @param {number} from @param {number} to @param {Float64Array} out @param {number} least */
	replay(from, to, out, least) {
		const { births, deaths, lives, bandOfGroup, bandCount, replayed } = this;
		const checkpoint = Math.floor(from / CHECKPOINT);
		let born = this.bornAt[checkpoint];
		let total = 0;
		for (let k = 0; k < bandCount; k++) {
			total += replayed[k] = this.sumsAt[checkpoint * bandCount + k];
		}
		for (let state = checkpoint * CHECKPOINT; ; state++) {
			if (state >= from && total > least) {
				least = total;
				out.set(replayed);
				this.foundState = state;
			}
			if (state >= to) return least;
			const is_birth = this.isBirth(born, state - born);
			const life = is_birth ? births[born++] : deaths[state - born];
			const change = is_birth ? lives.bytes[life] : -lives.bytes[life];
			replayed[bandOfGroup[lives.group[life]]] += change;
			total += change;
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
		out.fill(0);
		if (first === last) return Math.max(0, this.replay(from, to, out, -1));
		let most = this.replay(from, (first + 1) * CHECKPOINT - 1, out, -1);
		if (first + 1 < last) {
			const place = this.highest.find(first + 1, last);
			if (this.highest.values[place] > most) {
				const begin = place * CHECKPOINT;
				most = this.replay(begin, begin + CHECKPOINT - 1, out, most);
			}
		}
		return this.replay(last * CHECKPOINT, to, out, most);
	}

	/** Numbers of births and deaths before a state. @param {number} state */
	countsAt(state) {
		const checkpoint = Math.floor(state / CHECKPOINT);
		let born = this.bornAt[checkpoint];
		for (let k = checkpoint * CHECKPOINT; k < state; k++) {
			if (this.isBirth(born, k - born)) born++;
		}
		return { born, dead: state - born };
	}

	/** The event that ends a state. @param {number} state */
	eventAfter(state) {
		const { born, dead } = this.countsAt(state);
		const is_birth = this.isBirth(born, dead);
		const life = is_birth ? this.births[born] : this.deaths[dead];
		return { life, is_birth, at_ns: is_birth ? this.lives.birth[life] : this.lives.death[life] };
	}

	/** The time since which a state holds; 0 for the state before all events.
	 * @param {number} state */
	timeOf(state) {
		return state ? this.eventAfter(state - 1).at_ns : 0;
	}
}
