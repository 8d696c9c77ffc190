/*
 * Loads libunwind for the recorder: our own copy beside this object, which cannot be another
 * program's, else the system's. Loads it privately, so that its exports do not become the program's
 * (DESIGN 2.6). Enters the loader, so call it from the constructor or a resolver, never from a
 * hook.
 */
#ifndef GP_LOOKUP_UNWIND_H
#define GP_LOOKUP_UNWIND_H

/*
 * Opens native stacks of at most `depth` frames, once. Later calls are free and return the same.
 * NULL, or the reason why native stacks are missing.
 */
const char *gp_unwind_open(unsigned depth);

#endif
