/* A library that is opened RTLD_LOCAL and looks names up from its own place in the load order. */
#include <dlfcn.h>
#include <stddef.h>

int cuEntryLocal(void);
int entry_local(void);
void *entry_find_default(const char *name);
void *entry_find_next(const char *name);

int cuEntryLocal(void)
{
	return 1;
}

int entry_local(void)
{
	return 2;
}

void *entry_find_default(const char *name)
{
	void *volatile found =
		dlsym(RTLD_DEFAULT, name); /* no tail call, which would look up from our caller */
	return found;
}

void *entry_find_next(const char *name)
{
	void *volatile found = dlsym(RTLD_NEXT, name);
	return found;
}
