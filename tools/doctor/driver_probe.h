/*
 * What only a process of its own may find out, since drivers never leave a process: is there a
 * driver, does it start, where do look-ups of its functions lead. Prints lines "key value".
 */
#ifndef GP_DRIVER_PROBE_H
#define GP_DRIVER_PROBE_H

/* Keys: driver or driver_error, init, init_text, version, devices, libunwind. Exit status. */
int gp_driver_probe(void);

/* Keys: preloaded, and per door the object that it leads to: handle, global, address. No GPU. */
int gp_lookup_probe(const char *library);

#endif
