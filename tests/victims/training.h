/*
 * The allocations of a GPT-like training loop in PyTorch's order: weights once, then in each step
 * activations that live until backward, temporaries that are freed at once, and gradients. The
 * first step also allocates optimizer state.
 */
#ifndef TRAINING_H
#define TRAINING_H

#include "victim.h"

#ifndef LAYERS /* fewer: a smaller recording */
#define LAYERS 12
#endif
#define WEIGHTS_A_LAYER 12
#define KEPT_A_LAYER 14

struct training {
	const struct fake_c10 *c10;
	void *weight[LAYERS][WEIGHTS_A_LAYER], *gradient[LAYERS][WEIGHTS_A_LAYER],
		*moment[LAYERS][WEIGHTS_A_LAYER][2];
	unsigned long steps, ooms;
	uint64_t random;
};

/* A size that repeats from run to run: between 1/2 and 3/2 of `middle`. */
static inline size_t about(struct training *t, size_t middle)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return middle / 2 + (size_t)(t->random >> 33) % middle;
}

static inline size_t weight_bytes(int w)
{
	static const size_t bytes[] = { 2048, 2048, 3 << 20, 6144, 1 << 20, 2048,
					2048, 2048, 4 << 20, 8192, 4 << 20, 2048 };
	return bytes[w];
}

static inline void training_init(struct training *t, const struct fake_c10 *c10)
{
	*t = (struct training){ .c10 = c10, .random = 1 };
	for (int l = 0; l < LAYERS; l++)
		for (int w = 0; w < WEIGHTS_A_LAYER; w++)
			must(t->weight[l][w] = c10->allocate(0, weight_bytes(w)));
}

static inline void forward(struct training *t, void *kept[LAYERS][KEPT_A_LAYER])
{
	for (int l = 0; l < LAYERS; l++)
		for (int k = 0; k < KEPT_A_LAYER; k++) {
			void *temporary[2];
			for (int i = 0; i < 2; i++)
				must(temporary[i] = t->c10->allocate(
					     0, about(t, (size_t)64 << 10 << (k % 4))));
			must(kept[l][k] =
				     t->c10->allocate(0, about(t, (size_t)512 << 10 << (k % 3))));
			for (int i = 0; i < 2; i++)
				t->c10->release(temporary[i]);
		}
}

static inline void backward(struct training *t, void *kept[LAYERS][KEPT_A_LAYER])
{
	for (int l = LAYERS - 1; l >= 0; l--) {
		for (int k = KEPT_A_LAYER - 1; k >= 0; k--) {
			void *gradient =
				t->c10->allocate(0, about(t, (size_t)512 << 10 << (k % 3)));
			must(gradient);
			t->c10->release(kept[l][k]);
			t->c10->release(gradient);
		}
		for (int w = 0; w < WEIGHTS_A_LAYER; w++)
			if (!t->gradient[l][w])
				must(t->gradient[l][w] = t->c10->allocate(0, weight_bytes(w)));
	}
}

static inline void optimize(struct training *t)
{
	for (int l = 0; l < LAYERS; l++)
		for (int w = 0; w < WEIGHTS_A_LAYER; w++) {
			for (int m = 0; m < 2; m++)
				if (!t->moment[l][w][m])
					must(t->moment[l][w][m] =
						     t->c10->allocate(0, weight_bytes(w)));
			void *update = t->c10->allocate(0, weight_bytes(w));
			must(update);
			t->c10->release(update);
			/* zero_grad(set_to_none=True) */
			t->c10->release(t->gradient[l][w]);
			t->gradient[l][w] = NULL;
		}
}

static inline void training_step(struct training *t)
{
	void *kept[LAYERS][KEPT_A_LAYER];
	forward(t, kept);
	backward(t, kept);
	optimize(t);
	t->steps++;
}

static inline void training_print(const struct training *t)
{
	struct fake_c10_stats s;
	t->c10->stats(0, &s);
	printf("%lu steps, max_allocated %llu, max_reserved %llu\n", t->steps,
	       (unsigned long long)s.allocated_peak, (unsigned long long)s.reserved_peak);
	claim("framework_events", s.reports);
	claim("mismatches", 0);
	claim_peaks(t->c10, 0);
	must(s.reports == s.forwarded);
}

#endif
