/*
 * The program that shows a long report page by page: GPUPROF_PAGER, else PAGER, else less. "cat" or
 * "" means no pager. Its environment gets LESS=FRX if LESS is not set.
 */
#ifndef GP_PAGER_H
#define GP_PAGER_H

/*
 * Starts the pager. Returns the descriptor of its input, or -1: there is none, or it cannot be
 * started. The caller closes the descriptor before gp_pager_end. Until gp_pager_end, SIGPIPE is
 * ignored. Signals that end the program wait for the pager, which uses the terminal.
 */
int gp_pager_begin(void);

/* Waits for the pager. If the shell cannot start it, its input is shown unpaged. */
void gp_pager_end(void);

#endif
