/*
 * A fork waits until no thread is inside the unwinder or the loader's list of objects through the
 * recorder (DESIGN 3.11). Otherwise their locks would stay held in the child forever. The fork
 * closes the gate and waits at most 50 ms, because a thread inside may need a lock of the forking
 * thread. So a thread must not stay inside for long. Signals wait until it has left, except those
 * of a fault. A handler that jumps out would leave the thread inside forever, with the loader's
 * lock.
 */
#ifndef GP_FORK_GATE_H
#define GP_FORK_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers with fork, once; before that, forks do not wait. False: no memory. */
bool gp_fork_gate_open(void);

/*
 * For optional work. False: a fork is in progress, or the gate is not open. Always false in a child
 * whose fork waited in vain, or that a raw clone made. Calls do not nest. `signals` is for leaving.
 */
bool gp_fork_gate_enter(uint64_t *signals);
void gp_fork_gate_leave(const uint64_t *signals);

/*
 * Waits for forks in progress. False: one has lasted 50 ms; then do not call gp_walks_end(). Calls
 * nest, each with its own `signals`. May change errno. Works before constructors have run.
 */
bool gp_walks_begin(uint64_t *signals);
void gp_walks_end(const uint64_t *signals);

/* Number of forks that continued after 50 ms with a thread inside. */
uint32_t gp_fork_gate_overdue(void);

#endif
