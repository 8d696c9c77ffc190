/*
 * Binds what glibc 2.33 and 2.34 gave new versions to the old ones, so that the preload object
 * loads where glibc is from 2018 (DESIGN 2.6). Included in front of every file of that object by
 * -include; the lines cost nothing in files that do not call these functions. fstat has no old name
 * to bind to: use statx.
 */
#ifndef GP_GLIBC_FLOOR_H
#define GP_GLIBC_FLOOR_H

#if defined(__linux__) && defined(__x86_64__)
#define GP_OLD(symbol) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.2.5")
GP_OLD(dladdr);
GP_OLD(dlclose);
GP_OLD(dlerror);
GP_OLD(dlopen);
GP_OLD(dlvsym);
GP_OLD(pthread_attr_setstacksize);
GP_OLD(pthread_create);
GP_OLD(pthread_detach);
GP_OLD(pthread_getspecific);
GP_OLD(pthread_join);
GP_OLD(pthread_key_create);
GP_OLD(pthread_key_delete);
GP_OLD(pthread_kill);
GP_OLD(pthread_once);
GP_OLD(pthread_setspecific);
GP_OLD(pthread_sigmask);
GP_OLD(sem_init);
GP_OLD(sem_post);
GP_OLD(sem_wait);
#undef GP_OLD
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
__asm__(".symver dlinfo, dlinfo@GLIBC_2.3.3");
__asm__(".symver pthread_getattr_np, pthread_getattr_np@GLIBC_2.2.5");
__asm__(".symver pthread_setname_np, pthread_setname_np@GLIBC_2.12");
#elif defined(__linux__) && defined(__aarch64__)
#define GP_OLD(symbol) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.17")
GP_OLD(dladdr);
GP_OLD(dladdr1);
GP_OLD(dlclose);
GP_OLD(dlerror);
GP_OLD(dlinfo);
GP_OLD(dlopen);
GP_OLD(dlvsym);
GP_OLD(pthread_attr_setstacksize);
GP_OLD(pthread_create);
GP_OLD(pthread_detach);
GP_OLD(pthread_getattr_np);
GP_OLD(pthread_getspecific);
GP_OLD(pthread_join);
GP_OLD(pthread_key_create);
GP_OLD(pthread_key_delete);
GP_OLD(pthread_once);
GP_OLD(pthread_setname_np);
GP_OLD(pthread_setspecific);
GP_OLD(pthread_sigmask);
#undef GP_OLD
#endif

#endif
