/*
 * The number line of a device: all of its memory = free + owners + unattributed. `frag` and `oom`
 * print it of their moment, other commands of the peak of driver memory.
 */
#ifndef GP_NUMBER_LINE_H
#define GP_NUMBER_LINE_H

#include <stdio.h>

#include "../../libgpuprof/gpuprof.h"
#include "../io/json.h"

void gp_number_line_print(FILE *out, const struct gp_frag *frag, const struct gp_owners *owners);
/* The object `owners`, with `unattributed`. */
void gp_owners_write(struct gp_json *json, const struct gp_frag *frag,
		     const struct gp_owners *owners);

/* The line of one device at the peak of its driver memory. */
struct gp_number_line {
	bool is_known; /* false: no count of the driver was recorded by then */
	struct gp_memory memory;
	struct gp_frag frag;
	struct gp_owners owners;
};
enum gp_status gp_number_line_build(struct gp_recording *recording, unsigned device,
				    struct gp_number_line *out);
void gp_number_line_free(struct gp_number_line *line);
/* Prints nothing if it is not known. `head`: what precedes it in its line. */
void gp_number_line_print_known(FILE *out, const char *head, const struct gp_number_line *line);
/* The object `number_line`, or null. */
void gp_number_line_write(struct gp_json *json, const struct gp_number_line *line);

#endif
