/*
 * Prints why a process on the command line does not record.
 */
#ifndef SILENT_H
#define SILENT_H

/* `verb`: what failed, "query" or an order such as "stop"; `command`: the command for the hint. */
void gp_no_events_print(const char *verb, const char *command, unsigned pid);

#endif
