/*
 * Whether the loader can preload a file: a truncated library kills jobs with SIGBUS.
 */
#ifndef GP_LIBRARY_FILE_H
#define GP_LIBRARY_FILE_H

/* The flaw of the file as a library for this machine; NULL: none. Valid until the next call. */
const char *gp_library_flaw(const char *path);

#endif
