/*
 * Opens what a recording or a ring file names: such a path may lead to a device that acts when it
 * is opened, or to a FIFO whose writer waits for a reader. Not for tools/.
 */
#ifndef GP_REGULAR_FILE_H
#define GP_REGULAR_FILE_H

/*
 * As open(2), but of a regular file alone: what else lies there is looked at and not opened,
 * EINVAL. A file of another user is not opened for writing, by root neither: EACCES. O_CLOEXEC,
 * O_NONBLOCK and O_NOCTTY are added to `flags`.
 */
int gp_regular_open(const char *path, int flags);

#endif
