/*
 * How a function of ours becomes visible as one of the driver's: under the hidden version
 * GPUPROF_DRIVER. The loader gives it to linked references (they name no version and take an
 * object's first one), while dlsym passes over hidden versions. So a look-up by name finds what it
 * would without us, with the right dlerror, and only the resolvers return our functions: a machine
 * without a driver looks like one.
 */
#ifndef GP_DRIVER_EXPORT_H
#define GP_DRIVER_EXPORT_H

/* `implementation` is a function of the same file with hidden visibility (or static): our own table
 * must not be bound to an equally named function of another preload. */
#define GP_DRIVER_EXPORT(symbol, implementation)                                \
	extern __typeof__(implementation) gp_export_##symbol                    \
		__attribute__((alias(#implementation), visibility("default"))); \
	__asm__(".symver gp_export_" #symbol ", " #symbol "@GPUPROF_DRIVER")

#endif
