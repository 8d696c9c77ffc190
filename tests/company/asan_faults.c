/*
 * A program built with AddressSanitizer that uses the driver. Its argument then selects a fault:
 * none, a leak of 100 bytes of host memory ("leak"), or a read behind an array ("overflow").
 */
#include <string.h>

#include "../victims/victim.h"

int main(int argc, char **argv)
{
	const char *fault = argc > 1 ? argv[1] : "";
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 1000);
	claim("alloc", 1000);
	claim("free", 1000);
	claim_recordings(1);
	puts("allocated and freed");
	fflush(stdout);
	volatile char *bytes = malloc(100);
	must(bytes != NULL);
	memset((char *)bytes, 1, 100);
	if (strcmp(fault, "overflow") == 0)
		printf("%d\n", bytes[strlen(fault) + 92]);
	if (strcmp(fault, "leak") != 0)
		free((char *)bytes);
	bytes = NULL;
	return 0;
}
