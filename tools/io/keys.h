/*
 * A program that takes the whole terminal and single keys, until gp_keys_close. The terminal is
 * restored at the end, by signals too, and while the program is stopped (Ctrl-Z).
 */
#ifndef GP_KEYS_H
#define GP_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* False: stdout is not a terminal, or a dumb one. If stdin is not a terminal, no key arrives. */
bool gp_keys_open(void);
void gp_keys_close(void);

/* Results of gp_keys_wait beside characters. */
enum gp_key {
	GP_KEY_NONE = 0,  /* the time is over, or the process ended */
	GP_KEY_DRAW = -1, /* the size changed, or the program continues */
	GP_KEY_CHILD = -2,
	GP_KEY_END = -3,  /* the terminal was closed */
	GP_KEY_BACK = -4, /* Shift-Tab */
};
/*
 * Waits for a key, or until the monotonic time `until_ns`, or the end of the process that the
 * descriptor `process` stands for (-1: none). Ends the program by a signal that ends programs.
 */
int gp_keys_wait(int64_t until_ns, int process);

/*
 * Starts this program with these words, without output; GP_KEY_CHILD comes at its end. False: see
 * errno.
 */
bool gp_keys_start(char *const *words);
/* After GP_KEY_CHILD. Negative: a signal ended it. False: it runs, or there is none. */
bool gp_keys_child(int *exit_status);

#endif
