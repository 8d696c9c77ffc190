/* Whether the loader can preload a file: it kills jobs with SIGBUS when a library is cut. */
#ifndef GP_LIBRARY_FILE_H
#define GP_LIBRARY_FILE_H

/* What is wrong with it as a library of this machine; NULL: nothing. Valid until the next call. */
const char *gp_library_flaw(const char *path);

#endif
