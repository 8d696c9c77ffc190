/* The recorded process that a process started, such as that of `gpuprof run`. */
#ifndef STARTED_JOB_H
#define STARTED_JOB_H

/*
 * The only recorded process among the descendants of `pid`, where `pid` itself is not recorded; a
 * line on stderr names it. Else `pid`; of several recorded ones a line has the number.
 */
unsigned gp_started_job(unsigned pid);

#endif
