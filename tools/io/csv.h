/* A field of comma-separated values, as RFC 4180 has it. */
#ifndef GP_CSV_H
#define GP_CSV_H

#include <stdio.h>

/* Quoted when necessary, quotes doubled, unprintable bytes as \xNN. */
void gp_csv_put(FILE *out, const char *text);

#endif
