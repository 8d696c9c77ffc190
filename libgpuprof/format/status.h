/*
 * One list of results for every function that can fail. 0 is success; results come back through
 * out-parameters.
 */
#ifndef GP_STATUS_H
#define GP_STATUS_H

enum gp_status {
#define STATUS(number, NAME, text) GP_##NAME = (number),
#include "status.def"
#undef STATUS
};

/* A short English text without a full stop; never NULL. */
const char *gp_status_text(enum gp_status status);

#endif
