/* What is said of a process that was to be asked, and does not record. */
#ifndef SILENT_H
#define SILENT_H

/* `verb`: what was to be done with it, "ask" or an order; `command`: which one was asked. */
void gp_no_events_print(const char *verb, const char *command, unsigned pid);

#endif
