/*
 * Exports a function of ours as one of the driver's, under the hidden version GPUPROF_DRIVER. The
 * loader binds linked references to it: they name no version and take an object's first one. dlsym
 * skips hidden versions. So a look-up by name has the same result and the same dlerror as without
 * us, and only the resolvers return our functions. A machine without a driver looks like one.
 */
#ifndef GP_DRIVER_EXPORT_H
#define GP_DRIVER_EXPORT_H

/*
 * `implementation` is a function of the same file that is static or has hidden visibility. Our
 * table must not be bound to a function of the same name in another preload.
 */
#define GP_DRIVER_EXPORT(symbol, implementation)                                \
	extern __typeof__(implementation) gp_export_##symbol                    \
		__attribute__((alias(#implementation), visibility("default"))); \
	__asm__(".symver gp_export_" #symbol ", " #symbol "@GPUPROF_DRIVER")

#endif
