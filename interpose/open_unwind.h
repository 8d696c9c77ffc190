/*
 * Loading libunwind for the recorder: our own copy beside this object, which no other program's can
 * be mistaken for, else the system's. Privately: what it exports must not become the program's
 * (DESIGN 2.6). Enters the loader: from the constructor or a resolver, never from a hook.
 */
#ifndef GP_LOOKUP_UNWIND_H
#define GP_LOOKUP_UNWIND_H

/*
 * Opens native stacks of `depth` frames at most; once, further calls cost nothing and answer the
 * same. NULL, or why there are none.
 */
const char *gp_unwind_open(unsigned depth);

#endif
