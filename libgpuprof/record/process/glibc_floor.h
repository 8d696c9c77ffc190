/*
 * Binds functions with new versions in glibc 2.33 and 2.34 to their old versions. The preload
 * object then loads with a glibc of 2018 (DESIGN 2.6). -include puts this file before every file of
 * that object; it costs nothing in files that do not call these functions. fstat has no old name to
 * bind to: use statx.
 */
#ifndef GP_GLIBC_FLOOR_H
#define GP_GLIBC_FLOOR_H

#define GP_OLD(symbol) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.2.5")
GP_OLD(dladdr);
GP_OLD(dlerror);
GP_OLD(dlopen);
GP_OLD(pthread_attr_setstacksize);
GP_OLD(pthread_create);
GP_OLD(pthread_key_create);
GP_OLD(pthread_setspecific);
GP_OLD(pthread_sigmask);
#undef GP_OLD
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
__asm__(".symver dlinfo, dlinfo@GLIBC_2.3.3");

#endif
