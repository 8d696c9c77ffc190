/*
 * Opens a path that a recording or a ring file contains. Such a path may lead to a device that acts
 * when it is opened, or to a FIFO whose writer waits for a reader. Not for tools/.
 */
#ifndef GP_REGULAR_FILE_H
#define GP_REGULAR_FILE_H

/*
 * As open(2), but for regular files only: other files are not opened, and errno is EINVAL. A file
 * of another user is not opened for writing, even by root: EACCES. Adds O_CLOEXEC, O_NONBLOCK and
 * O_NOCTTY to `flags`.
 */
int gp_regular_open(const char *path, int flags);

#endif
