/*
 * What the whole object shares: the sink, and whether this is the process that attached to it. In a
 * forked child nothing of ours runs: exported functions only forward.
 */
#ifndef GP_CUPTI_PROCESS_H
#define GP_CUPTI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "../gpu/gpu_time.h"

/* NULL: GPU time was not requested. */
extern const struct gp_gpu_sink *gp_cupti_sink;

/* Attaches to libgpuprof.so. For the constructor. */
void gp_cupti_attach(const struct gp_gpu_source *source);

/*
 * Gives the calling thread the processors of the constructor, and normal scheduling. Its creator
 * may be bound to one processor, or be a real-time thread.
 */
void gp_cupti_leave_processor(void);

/* A detached thread that takes no signals of the job. False: it could not be started. */
bool gp_cupti_thread_start(void *(*main)(void *unused));

/* Whether we attached, in this process and not in its parent. */
bool gp_cupti_is_attached(void);

/* A forked child, whose parent had not started, collects itself. False: none has attached. */
bool gp_cupti_attach_child(void);

/*
 * While the word has that value, waits for a wake, at most `us` microseconds (UINT32_MAX: without
 * end). These keep errno.
 */
void gp_cupti_wait(_Atomic uint32_t *word, uint32_t value, uint32_t us);
void gp_cupti_wake(_Atomic uint32_t *word);
void gp_cupti_sleep(uint32_t us);

/*
 * A turn, for calls of CUPTI whose order matters. The wait is bounded, because the caller may hold
 * a lock that the thread before it waits for. False: go on anyway, and do not leave.
 */
bool gp_cupti_turn_enter(_Atomic uint32_t *turn);
void gp_cupti_turn_leave(_Atomic uint32_t *turn, bool has_turn);

/* CLOCK_MONOTONIC, in milliseconds. */
uint64_t gp_cupti_now_ms(void);

#endif
