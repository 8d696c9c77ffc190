/*
 * A fork waits until no thread is inside the unwinder or the loader's list of objects through us
 * (DESIGN 3.11): their locks would stay held in the child for ever. It closes the gate and waits at
 * most 50 ms, since a thread inside may need a lock that the forking thread holds. So a thread must
 * not stay inside for long. Signals wait until it has left, but for those of a fault: a handler
 * that jumps out would leave the thread inside for ever, with the loader's lock in its hands.
 */
#ifndef GP_FORK_GATE_H
#define GP_FORK_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers with fork, once; before that no fork waits. False: no memory. */
bool gp_fork_gate_open(void);

/*
 * For what can be done without. False: a fork is under way, or the gate is not open; also in a
 * child whose fork waited in vain, or that a raw clone made: it never enters again. They do not
 * nest. `signals` is for leaving.
 */
bool gp_fork_gate_enter(uint64_t *signals);
void gp_fork_gate_leave(const uint64_t *signals);

/*
 * Waits for forks under way. False: one has been for 50 ms; then do not gp_walks_end(). They nest,
 * each with `signals` of its own. May change errno. Works before constructors have run.
 */
bool gp_walks_begin(uint64_t *signals);
void gp_walks_end(const uint64_t *signals);

/* Forks that went on after 50 ms though a thread was inside. */
uint32_t gp_fork_gate_overdue(void);

#endif
