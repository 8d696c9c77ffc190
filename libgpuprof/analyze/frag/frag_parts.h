/* The parts of gp_frag_build, one file each; frag.c has their order. */
#ifndef GP_FRAG_PARTS_H
#define GP_FRAG_PARTS_H

#include "frag_room.h"

/* frag_cause.c: reserved_bytes, allocated_bytes, cause_bytes, rounding; the table of pools. */
/*
 * Bytes in use on the whole device: the driver's last count, moved by the job's later requests and
 * releases.
 */
uint64_t gp_frag_driver_used(const struct gp_memory_device *device);
void gp_frag_add_up(const struct gp_room *room, struct gp_frag *frag);
enum gp_status gp_frag_list_pools(const struct gp_room *room, struct gp_frag *frag);
/* frag_pin.c */
enum gp_status gp_frag_list_pins(const struct gp_room *room, struct gp_frag *frag);
/* frag_fit.c */
enum gp_status gp_frag_find_fit(const struct gp_room *room, struct gp_frag *frag);

#endif
