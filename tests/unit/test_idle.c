/*
 * Memory that is held without being used, against brute force on random histories. Figures are
 * states at the peak, waste over the run and buffers that could be one. Also the driver's memory by
 * its owner.
 */
#include "idle_history.h"
#include "stack_records.h"

/* ---- brute force ---- */

struct uses {
	uint64_t number, first, last, rest; /* launches by then */
	/* uses before the peak; launches of the neighbours */
	uint64_t before, last_before, next_after;
};

static struct uses uses_of(size_t life)
{
	struct uses u = { 0 };
	bool has_next = false;
	u.next_after = UINT64_MAX;
	for (size_t k = 0; k < model.moments; k++) {
		const struct moment *m = &model.moment[k];
		if (m->life != life)
			continue;
		if (u.number == 0)
			u.first = m->launches;
		else if (m->launches - u.last > u.rest)
			u.rest = m->launches - u.last;
		u.last = m->launches;
		u.number++;
		if (m->order < model.peak_order) {
			u.before++;
			u.last_before = m->launches;
		} else if (!has_next) {
			has_next = true;
			u.next_after = m->launches;
		}
	}
	return u;
}

static bool is_at_peak(const struct life *l)
{
	return l->order <= model.peak_order && (!l->is_freed || l->end_order > model.peak_order);
}

static enum gp_idle_state brute_state(const struct life *l, const struct uses *u, uint64_t least)
{
	uint64_t end = l->is_freed ? l->freed : model.launches,
		 to = u->next_after != UINT64_MAX ? u->next_after : end,
		 from = u->before ? u->last_before : l->born;
	if (to - from < least)
		return GP_IDLE_BUSY;
	if (!u->before)
		return u->number ? GP_IDLE_EARLY : GP_IDLE_NEVER;
	return u->next_after != UINT64_MAX ? GP_IDLE_BETWEEN : GP_IDLE_LATE;
}

struct sums {
	uint64_t state_bytes[GP_IDLE_STATES], state_count[GP_IDLE_STATES];
	uint64_t row_bytes[GP_IDLE_STATES][STACKS + 1];
	uint64_t waste_bytes[GP_WASTES][STACKS + 1], waste_count[GP_WASTES][STACKS + 1];
	uint64_t waste_most[GP_WASTES][STACKS + 1]; /* launches of the row with the largest waste */
	double waste_weight[GP_WASTES][STACKS + 1];
};

static void waste_add(struct sums *s, enum gp_waste waste, const struct life *l, uint64_t launches)
{
	double weight = (double)l->bytes * (double)launches;
	s->waste_bytes[waste][l->stack] += l->bytes;
	s->waste_count[waste][l->stack]++;
	if (weight > s->waste_weight[waste][l->stack]) {
		s->waste_weight[waste][l->stack] = weight;
		s->waste_most[waste][l->stack] = launches;
	}
}

static void brute_force(uint64_t least, struct sums *s)
{
	memset(s, 0, sizeof *s);
	for (size_t k = 0; k < model.lives; k++) {
		const struct life *l = &model.life[k];
		const struct uses u = uses_of(k);
		uint64_t end = l->is_freed ? l->freed : model.launches;
		if (is_at_peak(l)) {
			enum gp_idle_state state = brute_state(l, &u, least);
			s->state_bytes[state] += l->bytes;
			s->state_count[state]++;
			s->row_bytes[state][l->stack] += state != GP_IDLE_BUSY ? l->bytes : 0;
		}
		if (u.number == 0 && end > l->born)
			waste_add(s, GP_WASTE_NEVER, l, end - l->born);
		if (u.number == 0)
			continue;
		if (u.first - l->born >= least)
			waste_add(s, GP_WASTE_EARLY, l, u.first - l->born);
		if (end - u.last >= least)
			waste_add(s, GP_WASTE_LATE, l, end - u.last);
		if (u.rest >= least)
			waste_add(s, GP_WASTE_BETWEEN, l, u.rest);
	}
}

static void compare_device(const struct gp_idle_device *d, const struct sums *expected)
{
	uint64_t rows[GP_IDLE_STATES][STACKS + 1] = { { 0 } };
	uint64_t bytes = 0;
	for (unsigned s = 0; s < GP_IDLE_STATES; s++) {
		assert_sum(d, GP_IDLE_BLOCK, s, expected->state_bytes[s], expected->state_count[s]);
		bytes += expected->state_bytes[s];
	}
	assert_int_equal(bytes, model.peak_bytes);
	for (size_t k = 0; k < d->rows; k++) {
		const struct gp_idle_row *r = &d->row[k];
		assert_int_equal(rows[r->kind][r->stack], 0);
		rows[r->kind][r->stack] = r->bytes;
		assert_true(k == 0 || d->row[k - 1].weight >= r->weight);
		assert_true(r->last_ns < 0 || r->last_ns <= d->peak_at_ns);
		assert_true(r->next_ns < 0 || r->next_ns >= d->peak_at_ns);
		assert_true(r->born_ns <= d->peak_at_ns && r->key != NULL);
	}
	assert_memory_equal(rows, expected->row_bytes, sizeof rows);
}

static void compare_wastes(const struct gp_idle *idle, const struct sums *expected)
{
	struct sums got = { 0 };
	for (size_t k = 0; k < idle->wastes; k++) {
		const struct gp_idle_row *r = &idle->waste[k];
		if (r->space != GP_SPACE_BLOCK)
			continue;
		got.waste_bytes[r->kind][r->stack] += r->bytes;
		got.waste_count[r->kind][r->stack] += r->count;
		got.waste_most[r->kind][r->stack] = r->idle_launches;
	}
	assert_memory_equal(got.waste_bytes, expected->waste_bytes, sizeof got.waste_bytes);
	assert_memory_equal(got.waste_count, expected->waste_count, sizeof got.waste_count);
	assert_memory_equal(got.waste_most, expected->waste_most, sizeof got.waste_most);
}

/* At most as many buffers as are in use at once. */
static uint64_t compare_reuses(const struct gp_idle_device *d)
{
	uint64_t saved = 0, expected = 0;
	for (size_t k = 0; k < d->reuses; k++)
		saved += (d->reuse[k].count - d->reuse[k].needed) * d->reuse[k].each_bytes;
	for (uint64_t bytes = 512; bytes <= 512 * 64; bytes += 512) {
		struct uses u[PLACES];
		size_t buffers = 0, most = 0;
		for (size_t k = 0; k < model.lives; k++)
			if (is_at_peak(&model.life[k]) && model.life[k].bytes == bytes &&
			    (u[buffers] = uses_of(k)).number > 0)
				buffers++;
		for (size_t k = 0; k < buffers; k++) {
			size_t at_once = 0;
			for (size_t i = 0; i < buffers; i++)
				at_once += u[i].first <= u[k].first && u[i].last >= u[k].first;
			most = at_once > most ? at_once : most;
		}
		expected += (buffers - most) * bytes;
	}
	assert_int_equal(saved, expected);
	return saved;
}

/* Stacks of this history have no frames, so stacks of one state have the same text. */
static void folded_rows_are_the_sums(struct gp_idle *idle)
{
	struct gp_idle_device *d = &idle->device[0];
	uint64_t waste_before = 0, waste_after = 0;
	size_t rows[GP_IDLE_STATES] = { 0 }, stacks = 0, before = d->rows;
	for (size_t k = 0; k < idle->wastes; k++)
		waste_before += idle->waste[k].bytes;
	gp_idle_fold(idle);
	for (size_t k = 0; k < d->rows; k++) {
		assert_int_equal(rows[d->row[k].kind]++, 0);
		assert_sum(d, GP_IDLE_BLOCK, d->row[k].kind, d->row[k].bytes, d->row[k].count);
		assert_true(k == 0 || d->row[k - 1].weight >= d->row[k].weight);
		stacks += d->row[k].stacks;
	}
	assert_int_equal(stacks, before);
	for (size_t k = 0; k < idle->wastes; k++) {
		const struct gp_idle_row *w = &idle->waste[k];
		waste_after += w->bytes;
		assert_true(k == 0 || w[-1].kind < w->kind || w->space != GP_SPACE_BLOCK);
	}
	assert_int_equal(waste_after, waste_before);
}

static void random_histories_are_as_by_brute_force(void **state)
{
	(void)state;
	static struct sums expected;
	uint64_t saved = 0;
	const unsigned unseen[] = { 0, 0, 0, 0, 2, 20, 200, 1000 };
	for (unsigned round = 0; round < sizeof unseen / sizeof *unseen; round++) {
		struct writer w;
		struct gp_idle idle;
		const uint64_t least = round % 4 ? 40 * (round % 4) : 1;
		seed = round + 1;
		begin_history(&w, "idle.gpr", 0, true);
		random_history(&w, 6000, unseen[round]);
		struct gp_recording *r = open_recording(&w);
		assert_int_equal(gp_idle_build(r, least, &idle), GP_OK);
		assert_true(idle.has_uses);
		assert_int_equal(idle.launches, model.launches);
		assert_int_equal(idle.scanned, model.launches);
		assert_int_equal(idle.resolved, model.resolved);
		assert_int_equal(idle.copies_resolved, model.copies_resolved);
		assert_int_equal(idle.addresses_resolved, model.moments - model.unseen);
		assert_true(idle.addresses > idle.addresses_resolved);
		assert_int_equal(idle.devices, 1);
		brute_force(least, &expected);
		compare_device(&idle.device[0], &expected);
		compare_wastes(&idle, &expected);
		saved += compare_reuses(&idle.device[0]);
		folded_rows_are_the_sums(&idle);
		gp_idle_free(&idle);
		gp_recording_close(r);
	}
	assert_true(saved > 0);
}

/* ---- the driver's memory ---- */

/* Driver memory outside the framework: churn, pinned growth, a refused free. */
static void driver_memory_is_looked_at_too(void **state)
{
	(void)state;
	struct writer w;
	struct gp_idle idle;
	begin_history(&w, "driver.gpr", 0, true);
	const uint64_t kept = 0x6100000000;
	put(&w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.stack = 4,
				.space = GP_SPACE_DEVICE,
				.alloc = { .address = kept, .bytes = 1 << 20 } });
	struct gp_record refused = { .kind = GP_FREE,
				     .space = GP_SPACE_DEVICE,
				     .device = GP_DEVICE_UNKNOWN,
				     .free.address = kept };
	put(&w, 0, refused);
	put(&w, 0,
	    (struct gp_record){ .kind = GP_FREE_FAILED,
				.space = GP_SPACE_DEVICE,
				.device = GP_DEVICE_UNKNOWN,
				.code = 1,
				.free_failed = { .address = kept, .undoes = w.order - 1 } });
	for (unsigned k = 0; k < 12; k++) {
		put(&w, 0,
		    (struct gp_record){ .kind = GP_ALLOC,
					.stack = 5,
					.space = GP_SPACE_DEVICE,
					.alloc = { .address = 0x6200000000, .bytes = 4096 } });
		put(&w, 0,
		    (struct gp_record){
			    .kind = GP_ALLOC,
			    .stack = 6,
			    .space = GP_SPACE_HOST,
			    .alloc = { .address = 0x500000000 + k * 65536u, .bytes = 65536 } });
		put(&w, 0, launched(0));
		put(&w, 0,
		    (struct gp_record){ .kind = GP_USE,
					.use = { .first = 0x6200000000, .second = kept + 8 } });
		put(&w, 0,
		    (struct gp_record){ .kind = GP_FREE,
					.space = GP_SPACE_DEVICE,
					.device = GP_DEVICE_UNKNOWN,
					.free.address = 0x6200000000 });
	}
	struct gp_recording *r = open_recording(&w);
	assert_int_equal(gp_idle_build(r, 100, &idle), GP_OK);
	assert_int_equal(idle.resolved, 12);
	assert_int_equal(idle.addresses_resolved, 24);
	const struct gp_idle_row *found[GP_WASTES] = { NULL };
	for (size_t k = 0; k < idle.wastes; k++)
		if (idle.waste[k].kind == GP_WASTE_CHURN || idle.waste[k].kind == GP_WASTE_PINNED)
			found[idle.waste[k].kind] = &idle.waste[k];
	assert_non_null(found[GP_WASTE_CHURN]);
	assert_int_equal(found[GP_WASTE_CHURN]->stack, 5);
	assert_int_equal(found[GP_WASTE_CHURN]->count, 12);
	assert_non_null(found[GP_WASTE_PINNED]);
	assert_int_equal(found[GP_WASTE_PINNED]->bytes, 12 * 65536);
	gp_idle_free(&idle);
	gp_recording_close(r);
}

/*
 * Memory that a job pins at its begin, in any number of pieces, is not growth. Managed memory is
 * reported.
 */
static void memory_of_the_setup_does_not_grow(void **state)
{
	(void)state;
	for (unsigned is_grown = 0; is_grown < 2; is_grown++) {
		struct writer w;
		struct gp_idle idle;
		begin_history(&w, "pinned.gpr", 0, true);
		for (unsigned k = 0; k < 100; k++) {
			bool is_managed = is_grown && k == 0;
			unsigned space = is_managed ? GP_SPACE_MANAGED : GP_SPACE_HOST;
			if (is_managed || (is_grown ? k % 10 == 5 : k < 10))
				put(&w, 0,
				    (struct gp_record){
					    .kind = GP_ALLOC,
					    .stack = 6,
					    .space = (uint8_t)space,
					    .alloc = { .address = 0x500000000 + k * 65536u,
						       .bytes = 65536 } });
			if (is_grown || k >= 10)
				put(&w, 0, launched(0));
		}
		struct gp_recording *r = open_recording(&w);
		assert_int_equal(gp_idle_build(r, 1000, &idle), GP_OK);
		uint64_t bytes = 0;
		for (size_t k = 0; k < idle.wastes; k++)
			bytes += idle.waste[k].kind == GP_WASTE_PINNED ? idle.waste[k].bytes : 0;
		assert_int_equal(bytes, is_grown * 10 * 65536);
		assert_int_equal(idle.has_managed, is_grown);
		gp_idle_free(&idle);
		gp_recording_close(r);
	}
}

#define OF_PROGRAM 20u
#define OF_LIBRARY 21u

static void put_module(struct writer *w, unsigned number, const char *path)
{
	char text[256];
	const int n =
		snprintf(text, sizeof text, "00112233445566778899aabbccddeeff00112233 %s", path);
	put_text(w,
		 (struct gp_record){ .kind = GP_MODULE,
				     .aux = number,
				     .module = { number << 24, 1 << 20, 0, 0 } },
		 text, (size_t)n);
}

static void put_stack(struct writer *w, unsigned id, unsigned module)
{
	put_definition(w, 0,
		       (struct gp_record){ .kind = GP_NATIVE_FRAME,
					   .aux = id + 100,
					   .native_frame = { .pc = (module << 24) + 0x100 } });
	put_definition(w, 0,
		       (struct gp_record){
			       .kind = GP_CALL_STACK, .aux = id, .call_stack = { id + 100, 0 } });
}

static void get_memory(struct writer *w, uint32_t stack, unsigned space, uint64_t address)
{
	put(w, 0,
	    (struct gp_record){ .kind = GP_ALLOC,
				.stack = stack,
				.space = (uint8_t)space,
				.alloc = { .address = address, .bytes = 1 << 20 } });
}

/*
 * Memory that a library keeps for itself cannot be offloaded. With and without blocks of a
 * framework the driver's memory is separated by owner. Buffers that could be one belong to the
 * program.
 */
static void memory_is_reported_by_owner(void **state)
{
	(void)state;
	for (unsigned is_framework = 0; is_framework < 2; is_framework++) {
		struct writer w;
		struct gp_idle idle;
		begin_history(&w, "whose.gpr", 0, true);
		put_module(&w, 1, "/srv/job/simulate");
		put_module(&w, 2, "/usr/local/cuda/lib64/libcublas.so.13");
		put_stack(&w, OF_PROGRAM, 1);
		put_stack(&w, OF_LIBRARY, 2);
		const uint64_t base = 0x6100000000;
		/* before the peak, and freed by then */
		get_memory(&w, OF_PROGRAM, GP_SPACE_IPC, base + (4ull << 24));
		get_memory(&w, OF_PROGRAM, GP_SPACE_DEVICE, base);
		get_memory(&w, OF_LIBRARY, GP_SPACE_DEVICE, base + (1 << 24));
		get_memory(&w, OF_LIBRARY, GP_SPACE_DEVICE, base + (2ull << 24));
		get_memory(&w, 0, GP_SPACE_DEVICE, base + (3ull << 24));
		if (is_framework)
			model_alloc(&w, 0, 512, OF_LIBRARY);
		for (unsigned k = 0; k < 5; k++) { /* one after the other */
			put(&w, 0, launched(0));
			put(&w, 0,
			    (struct gp_record){ .kind = GP_USE,
						.aux = GP_USE_LAUNCH,
						.use.first = base + ((uint64_t)k << 24) });
		}
		for (unsigned k = 0; k < 200; k++)
			put(&w, 0, launched(0));
		struct gp_recording *r = open_recording(&w);
		assert_int_equal(gp_idle_build(r, 1, &idle), GP_OK);
		assert_int_equal(idle.devices, 1);
		const struct gp_idle_device *d = idle.device;
		assert_int_equal(d->is_framework, is_framework);
		/* without blocks the segment is not recognized as one */
		const uint64_t segment = is_framework ? 0 : SEGMENT_BYTES;
		assert_sum(d, GP_IDLE_BLOCK, GP_IDLE_NEVER, is_framework * 512, is_framework);
		assert_sum(d, GP_IDLE_ANYBODY, GP_IDLE_NEVER, segment, !is_framework);
		uint64_t bytes[GP_IDLE_OWNERS] = { 0 };
		for (unsigned o = 0; o < GP_IDLE_OWNERS; o++)
			for (unsigned s = 0; s < GP_IDLE_STATES; s++)
				bytes[o] += d->sum[o][s].bytes;
		assert_int_equal(bytes[GP_IDLE_PROGRAM], 1 << 20);
		assert_int_equal(bytes[GP_IDLE_LIBRARY], 2 << 20);
		assert_int_equal(bytes[GP_IDLE_ANYBODY], (1 << 20) + segment);
		assert_int_equal(bytes[GP_IDLE_PROCESS], 1 << 20);
		size_t of_library = 0;
		for (size_t k = 0; k < d->rows; k++) {
			bool is_library = d->row[k].holder.owner == GP_IDLE_LIBRARY;
			assert_string_equal(d->row[k].holder.library, is_library ? "cuBLAS" : "");
			of_library += is_library ? d->row[k].count : 0;
		}
		assert_int_equal(of_library, 2);
		/* of the driver's memory, the program's and that of unknown owners */
		assert_int_equal(d->reuses, !is_framework);
		if (!is_framework)
			assert_int_equal(d->reuse[0].count, 2);
		gp_idle_free(&idle);
		gp_recording_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_histories_are_as_by_brute_force),
		cmocka_unit_test(driver_memory_is_looked_at_too),
		cmocka_unit_test(memory_of_the_setup_does_not_grow),
		cmocka_unit_test(memory_is_reported_by_owner),
	};
	int failed = cmocka_run_group_tests(tests, make_directory, drop_directory);
	free(model.moment);
	return failed;
}
