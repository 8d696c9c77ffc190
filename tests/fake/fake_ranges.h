/*
 * PyTorch's ranges and engine as victims see them: one table, found with dlsym("fake_ranges") in
 * build/fake/libtorch_cpu_ranges.so. The library exists only where it could be built.
 */
#ifndef FAKE_RANGES_H
#define FAKE_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* A node of autograd: who made it, and what it does. */
struct fake_node {
	uint64_t thread, sequence;
	void (*work)(void *);
	void *argument;
};

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
	/*
	 * An operator on the calling thread, during which `work` runs. Returns the number of the
	 * node that it makes. FAKE_NO_NODE: it could make one, but does not. FAKE_NO_GRAD: it
	 * cannot.
	 */
	uint64_t (*operate)(int makes, void (*work)(void *), void *argument);
	uint64_t (*thread)(void); /* PyTorch's number of the calling thread */
	/* Runs nodes one after the other on a thread of the engine. */
	void (*run_nodes)(const struct fake_node *nodes, size_t count);
	/* The same within a node, on its thread. */
	void (*run_nodes_here)(const struct fake_node *nodes, size_t count);
};

enum { FAKE_MAKES_NODE, FAKE_NO_NODE, FAKE_NO_GRAD };

#endif
