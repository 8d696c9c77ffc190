/*
 * Scans words for known addresses and records the matches.
 */
#include "use_scan.h"

#include <errno.h>
#include <string.h>

#include "capture.h"
#include "context.h"

/* Keys of the array `extra`, which ends with END. */
#define EXTRA_END ((void *)0)
#define EXTRA_BUFFER ((void *)1)
#define EXTRA_BYTES ((void *)2)
#define EXTRA_MOST 16u
#define BUFFER_BYTES_MAX 65536u

#define ADDRESSES 4u /* of an event */
#define GROUP 8u     /* words compared at once */

void gp_uses_restart(void)
{
	if (!atomic_load(&gp_uses_requested))
		return;
	int kept = errno;
	bool is_open = gp_use_map_open() && gp_use_layouts_open();
	gp_define_fact(GP_FACT_USES, is_open,
		       is_open ? NULL : "no memory for the map of what is used");
	errno = kept;
}

/* ---- places of parameters ---- */

static bool buffer_find(struct gp_use_source *out, void *const *extra)
{
	for (unsigned k = 0; k < EXTRA_MOST && extra[k] != EXTRA_END; k += 2) {
		if (extra[k] == EXTRA_BUFFER)
			out->buffer = extra[k + 1];
		else if (extra[k] == EXTRA_BYTES && extra[k + 1])
			memcpy(&out->buffer_bytes, extra[k + 1], sizeof out->buffer_bytes);
	}
	return out->buffer && out->buffer_bytes <= BUFFER_BYTES_MAX;
}

bool gp_use_source_find(struct gp_use_source *out, uint64_t function, void *const *parameters,
			void *const *extra)
{
	*out = (struct gp_use_source){ .parameters = parameters };
	if (!gp_use_map.bit)
		return false;
	if (!parameters && extra)
		return buffer_find(out, extra);
	out->layout = gp_use_layout_of(function);
	return out->layout && (parameters || !out->layout->pieces);
}

/* ---- matches ---- */

struct found {
	uint64_t address[ADDRESSES];
	unsigned addresses;
	uint32_t what;
	uint8_t device;
	uint64_t time;
};

static void use_scan_flush(struct found *f)
{
	struct gp_record *r = f->addresses ? gp_reserve_at(GP_USE, f->time) : NULL;
	if (r) {
		memcpy(r->v, f->address, f->addresses * sizeof f->address[0]);
		r->aux = f->what;
		r->device = f->device;
		gp_commit(r);
	}
	f->addresses = 0;
}

/* Records an address only once if it repeats among the last ones. */
static void use_scan_add(struct found *f, uint64_t address)
{
	for (unsigned k = 0; k < f->addresses; k++)
		if (f->address[k] == address)
			return;
	f->address[f->addresses++] = address;
	if (f->addresses == ADDRESSES)
		use_scan_flush(f);
}

static uint32_t captured_bit(void)
{
	return gp_is_capturing() ? GP_USE_CAPTURED : 0;
}

/* The map at the time when the scan of a launch begins. */
struct sieve {
	const _Atomic uint64_t *bit;
	uint64_t low, span;
};

typedef uint32_t four_halves __attribute__((vector_size(16)));
typedef int32_t four_signed __attribute__((vector_size(16)));

/*
 * Which of four words may lie between low and high, by their upper halves alone. This rejects most
 * words.
 */
GP_HOT four_signed may_be_known(const unsigned char *at, four_halves lowest, four_signed limit)
{
	four_halves a, b;
	memcpy(&a, at, sizeof a);
	memcpy(&b, at + sizeof a, sizeof b);
#if __has_builtin(__builtin_shufflevector)
	const four_halves upper = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else /* gcc before 12 */
	const four_halves upper = __builtin_shuffle(a, b, (four_halves){ 1, 3, 5, 7 });
#endif
	/* unsigned comparison by signed instructions: both sides are shifted by half the range */
	return (four_signed)(upper - lowest) < limit;
}

GP_HOT void scan_word(const struct sieve *s, struct found *f, const unsigned char *at)
{
	uint64_t word; /* may be unaligned in the caller's memory */
	memcpy(&word, at, sizeof word);
	if (gp_unlikely(gp_use_is_known(s->bit, s->low, s->span, word)))
		use_scan_add(f, word);
}

GP_HOT void scan(const struct sieve *s, struct found *f, const unsigned char *at, size_t words)
{
	const uint32_t half = 1u << 31, first = (uint32_t)(s->low >> 32) + half;
	const uint32_t halves =
		(uint32_t)((s->low + s->span - 1) >> 32) - (uint32_t)(s->low >> 32) + 1 + half;
	const int32_t over = (int32_t)halves;
	const four_halves lowest = { first, first, first, first };
	const four_signed limit = { over, over, over, over };
	for (; words >= GROUP; words -= GROUP, at += 8 * GROUP) {
		const union {
			four_signed lanes;
			uint64_t half[2];
		} any = { may_be_known(at, lowest, limit) | may_be_known(at + 32, lowest, limit) };
		if (gp_likely(!(any.half[0] | any.half[1])))
			continue;
		for (unsigned k = 0; k < GROUP; k++)
			scan_word(s, f, at + 8 * k);
	}
	for (; words > 0; words--, at += 8)
		scan_word(s, f, at);
}

GP_HOT_TEXT void gp_uses_of_launch(const struct gp_use_source *source, uint64_t time,
				   unsigned device)
{
	const uint64_t low = atomic_load_explicit(&gp_use_map.low, memory_order_relaxed);
	const uint64_t high = atomic_load_explicit(&gp_use_map.high, memory_order_relaxed);
	const struct sieve s = { gp_use_map.bit, low, high > low ? high - low : 0 };
	struct found f = { .what = GP_USE_LAUNCH | captured_bit(),
			   .device = (uint8_t)device,
			   .time = time };
	const struct gp_use_layout *layout = source->layout;
	if (s.span == 0)
		return;
	for (uint32_t p = 0; layout && p < layout->pieces; p++)
		scan(&s, &f, source->parameters[layout->piece[p].parameter],
		     layout->piece[p].words);
	if (source->buffer)
		scan(&s, &f, source->buffer, source->buffer_bytes / 8);
	use_scan_flush(&f);
}

void gp_uses_of_copy(enum gp_use_what what, uint64_t to, uint64_t from)
{
	const uint64_t low = atomic_load(&gp_use_map.low), high = atomic_load(&gp_use_map.high);
	if (!gp_use_map.bit || high <= low)
		return;
	bool has_to = gp_use_is_known(gp_use_map.bit, low, high - low, to),
	     has_from = gp_use_is_known(gp_use_map.bit, low, high - low, from);
	if (!has_to && !has_from)
		return;
	int kept = errno;
	gp_put((struct gp_record){ .kind = GP_USE,
				   .device = (uint8_t)gp_device_current(),
				   .aux = (uint32_t)what | captured_bit(),
				   .use.first = has_to ? to : 0,
				   .use.second = has_from ? from : 0 });
	errno = kept;
}
