/* Finds the Python interpreter of the process, without the loader, for the stacks of its
 * frames. */
#ifndef GP_FIND_PYTHON_H
#define GP_FIND_PYTHON_H

/*
 * Looks for the interpreter where Python stacks are recorded and objects were loaded since the last
 * look. In a resolver.
 */
void gp_find_python(void);

#endif
