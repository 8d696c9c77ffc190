/*
 * No thread is inside the unwinder when the process forks (DESIGN 3.11): its locks and the loader's
 * would stay held in the child for ever. A fork closes the gate and waits for those inside, at most
 * 50 ms; who finds it closed does without. Where the wait was in vain, or no fork handler ran (raw
 * clone), the child never enters again: it walks by the rules that are known.
 */
#ifndef GP_NATIVE_GATE_H
#define GP_NATIVE_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers with fork; false: no memory, the gate stays closed. Once. */
bool gp_native_gate_open(void);
/*
 * True: inside, leave soon. Not to be called again by a thread that is inside. Signals wait until
 * it has left, but for those of a fault: a handler that jumps out would leave the thread
 * inside for ever, with the loader's lock in its hands. `signals` is for leaving.
 */
bool gp_native_gate_enter(uint64_t *signals);
void gp_native_gate_leave(const uint64_t *signals);
/* Forks that did not wait long enough. */
uint32_t gp_native_gate_overdue(void);

#endif
