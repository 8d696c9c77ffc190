/*
 * A library whose constructor calls back into the program that loads it: the address is in
 * VICTIM_CONSTRUCTOR.
 */
#include <stdint.h>
#include <stdlib.h>

__attribute__((constructor)) static void call_back(void)
{
	const char *text = getenv("VICTIM_CONSTRUCTOR");
	uintptr_t address = text ? strtoul(text, NULL, 16) : 0;
	if (address)
		((void (*)(void))address)();
}
