/*
 * PyTorch's ranges and engine as victims see them: one table, found with dlsym("fake_ranges") in
 * build/fake/libtorch_cpu_ranges.so. The library exists only where it could be built.
 */
#ifndef FAKE_RANGES_H
#define FAKE_RANGES_H

struct fake_ranges {
	void *(*begin)(const char *name); /* a range in the user scope */
	void (*end)(void *range);
	/*
	 * Runs `work` on a thread of the engine and returns 5, after the engine got the arguments
	 * that it expects. Without work the engine throws, and the exception is caught outside of
	 * it: -24.
	 */
	int (*backward)(void (*work)(void *), void *argument);
	/* The same on the calling thread, as for work without a GPU. */
	int (*backward_here)(void (*work)(void *), void *argument);
	unsigned long (*added)(void); /* number of callbacks that are registered for ranges */
};

#endif
