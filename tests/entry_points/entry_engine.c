/*
 * One of several copies of autograd's engine. It is built once with WHO for each copy, as the
 * library with the engine. It is built with CALLER as a library that needs that copy and calls it.
 */
#include <stdio.h>

#define EXECUTE                                                                                    \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_" \
	"EEbbbS7_"

void *entry_execute(void *result, void *engine, const void *roots, const void *inputs, int keeps,
		    int creates, int accumulates, const void *outputs) __asm__(EXECUTE);
void entry_backward(void);

#ifndef CALLER
void *entry_execute(void *result, void *engine, const void *roots, const void *inputs, int keeps,
		    int creates, int accumulates, const void *outputs)
{
	(void)roots, (void)inputs, (void)keeps, (void)creates, (void)accumulates, (void)outputs;
	printf("engine of %s runs for %s\n", WHO, (const char *)engine);
	return result;
}
#endif

void entry_backward(void)
{
	static char result[64], who[] = WHO;
	void *volatile kept = entry_execute(result, who, NULL, NULL, 1, 0, 1, NULL);
	(void)kept;
}
