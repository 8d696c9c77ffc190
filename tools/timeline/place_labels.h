/*
 * Where the labels above a plot go: each stands beside a line that leads down to what it names, and
 * neither texts nor lines cross another text. Pure arithmetic.
 */
#ifndef GP_PLACE_LABELS_H
#define GP_PLACE_LABELS_H

#include <stdbool.h>
#include <stddef.h>

enum { GP_LABELS_MOST = 4 };

struct gp_label {
	double at;    /* of the line, from the left edge */
	double width; /* of the text */
	unsigned row; /* found: 0 is next to the plot */
	bool is_left; /* found: the text ends at the line, else it begins there */
};

/* Finds rows and sides for at most GP_LABELS_MOST labels. Returns the number of rows. */
unsigned gp_labels_place(struct gp_label *label, size_t labels, double width);

/* Pixels that a text needs in any common font of this size. */
double gp_label_width(const char *text, unsigned font_size);

#endif
