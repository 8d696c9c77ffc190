/*
 * The program that shows a long report page by page: GPUPROF_PAGER, else PAGER, else less; a value
 * of "cat" or "" is none. It gets LESS=FRX where LESS is not set.
 */
#ifndef GP_PAGER_H
#define GP_PAGER_H

/*
 * Starts it; returns the descriptor of its input, or -1: there is none, or it cannot be started.
 * The caller closes it before gp_pager_end.
 * Until gp_pager_end, SIGPIPE is ignored, and signals that end the program wait for the pager:
 * it has the terminal.
 */
int gp_pager_begin(void);

/* Waits for its end. Where the shell cannot start it, what it is given is shown as it is. */
void gp_pager_end(void);

#endif
