/* A process's own memory figures. */
#ifndef STATUS_KIB_H
#define STATUS_KIB_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in a line of /proc/self/status such as "VmRSS:"; 0 if absent. Lines may be long. */
static inline unsigned long kib_of(const char *key)
{
	char line[256];
	unsigned long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtoul(line + strlen(key), NULL, 10);
	if (status)
		fclose(status);
	return kib;
}

#endif
