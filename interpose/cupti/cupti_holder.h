/* Which other tool may hold CUPTI. Looks at the mapped objects only. */
#ifndef GP_CUPTI_HOLDER_H
#define GP_CUPTI_HOLDER_H

/* A name for a message; NULL: none is known. */
const char *gp_cupti_holder(void);

#endif
