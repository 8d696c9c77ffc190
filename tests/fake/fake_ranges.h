/*
 * PyTorch's ranges and engine as victims see them: one table, found with dlsym("fake_ranges") in
 * build/fake/libtorch_cpu_ranges.so, which is there where it could be built.
 */
#ifndef FAKE_RANGES_H
#define FAKE_RANGES_H

struct fake_ranges {
	void *(*begin)(const char *name); /* a range of the scope of users */
	void (*end)(void *range);
	/*
	 * Has `work` done by a thread of the engine and returns 5, having been given what the
	 * engine expects; without work the engine throws, which is caught outside of it: -24.
	 */
	int (*backward)(void (*work)(void *), void *argument);
	/* The same on the calling thread, as what has no GPU. */
	int (*backward_here)(void (*work)(void *), void *argument);
	unsigned long (*added)(void); /* how many asked to be told of ranges */
};

#endif
