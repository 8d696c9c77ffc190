/*
 * Probes that run in a process of their own, because a driver cannot be unloaded. They find out
 * whether there is a driver, whether it starts, and to which object look-ups of its functions lead.
 * They print lines "key value".
 */
#ifndef GP_DRIVER_PROBE_H
#define GP_DRIVER_PROBE_H

/*
 * Keys: driver or driver_error, init, init_text, version, devices; libunwind, which `library` would
 * use, "" if it was not found. Returns the exit status.
 */
int gp_driver_probe(const char *library);

/*
 * Keys: preloaded; handle, global, address: the object to which each way of look-up leads. Needs no
 * GPU.
 */
int gp_lookup_probe(const char *library);

#endif
