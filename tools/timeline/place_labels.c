/* Tries every arrangement: four labels have 4,096, and the cheapest one is the best one. */
#include "place_labels.h"

#include <math.h>
#include <string.h>

enum { GAP = 12, ADVANCE_PERCENT = 58 };

/* What is worse: a text that is cut off, two that overlap, a line through a text, one more row. */
static const double cut_off = 1e6, overlap = 1e4, crossed = 1e3, row_cost = 10, left_cost = 1;

double gp_label_width(const char *text, unsigned font_size)
{
	return (double)strlen(text) * font_size * ADVANCE_PERCENT / 100;
}

static void spread(const struct gp_label *l, double *from, double *to)
{
	*from = l->is_left ? l->at - GAP / 2.0 - l->width : l->at + GAP / 2.0;
	*to = *from + l->width;
}

/* The line of `a` runs through the rows below its own. */
static double cost_of_pair(const struct gp_label *a, const struct gp_label *b)
{
	double from_a, to_a, from_b, to_b;
	spread(a, &from_a, &to_a);
	spread(b, &from_b, &to_b);
	if (a->row == b->row) {
		bool is_apart = to_a + GAP < from_b || to_b + GAP < from_a;
		bool is_through =
			(a->at > from_b && a->at < to_b) || (b->at > from_a && b->at < to_a);
		return (is_apart ? 0 : overlap) + (is_through ? crossed : 0);
	}
	const struct gp_label *high = a->row > b->row ? a : b;
	double from = high == a ? from_b : from_a, to = high == a ? to_b : to_a;
	return high->at > from - GAP / 2.0 && high->at < to + GAP / 2.0 ? crossed : 0;
}

static double cost_of(const struct gp_label *label, size_t labels, double width)
{
	double cost = 0;
	for (size_t k = 0; k < labels; k++) {
		double from, to;
		spread(&label[k], &from, &to);
		cost += from < 0 || to > width ? cut_off : 0;
		cost += label[k].row * row_cost + label[k].is_left * left_cost;
		for (size_t i = 0; i < k; i++)
			cost += cost_of_pair(&label[i], &label[k]);
	}
	return cost;
}

/* Three bits a label: its row and its side. */
static void arrange(struct gp_label *label, size_t labels, unsigned code)
{
	for (size_t k = 0; k < labels; k++, code >>= 3) {
		label[k].row = code & 3;
		label[k].is_left = code & 4;
	}
}

unsigned gp_labels_place(struct gp_label *label, size_t labels, double width)
{
	unsigned best = 0, rows = 0;
	double least = INFINITY;
	for (unsigned code = 0; code < 1u << (3 * labels); code++) {
		arrange(label, labels, code);
		double cost = cost_of(label, labels, width);
		if (cost < least) {
			least = cost;
			best = code;
		}
	}
	arrange(label, labels, best);
	for (size_t k = 0; k < labels; k++)
		rows = label[k].row >= rows ? label[k].row + 1 : rows;
	return rows;
}
