/* Finds the Python interpreter of the process, without the loader, for the stacks of its
 * frames. */
#ifndef GP_FIND_PYTHON_H
#define GP_FIND_PYTHON_H

/*
 * Searches for the interpreter if Python stacks are recorded and objects were loaded since the last
 * search. Call it in a resolver.
 */
void gp_find_python(void);

#endif
