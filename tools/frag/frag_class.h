/*
 * The classes behind the colours of a map: each block of a report gets one of a few classes.
 */
#ifndef FRAG_CLASS_H
#define FRAG_CLASS_H

#include "frag_report.h"

enum { GP_CLASSES_MOST = 10 };

struct gp_frag_classes {
	size_t classes; /* with GP_CLASSES_MOST classes the last one is the rest */
	struct gp_frag_class {
		char name[GP_SITE_MAX];
		uint64_t bytes; /* of blocks */
	} class[GP_CLASSES_MOST];
	uint8_t *of_block; /* index of a class, by block of the memory */
};

/* Ages in order, others by bytes. False: out of memory. */
bool gp_frag_classify(const struct gp_frag_report *report, enum gp_frag_colour by,
		      struct gp_frag_classes *out);
void gp_frag_classes_release(struct gp_frag_classes *classes);

#endif
