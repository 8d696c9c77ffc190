/* How wide what people read may be, and of which signs. */
#ifndef TERMINAL_WIDTH_H
#define TERMINAL_WIDTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GP_COLUMNS_MIN 50u
#define GP_COLUMNS_MAX 400u
#define GP_COLUMNS_RANGE "50..400" /* of an option */

/* `asked` of a flag, else of COLUMNS, else of the terminal, else 100; within the bounds. */
unsigned gp_columns(uint64_t asked, FILE *out);
/* By the locale; else ASCII alone. */
bool gp_is_utf8(void);
/* For what is left out of a name: "…", or ".." where that is no sign of the locale. */
const char *gp_cut_mark(void);

#endif
