/* A library that is opened RTLD_LOCAL and looks names up from its own place in the load order. */
#include <dlfcn.h>
#include <stddef.h>

int cuDoorLocal(void);
int door_local(void);
void *door_find_default(const char *name);
void *door_find_next(const char *name);

int cuDoorLocal(void)
{
	return 1;
}

int door_local(void)
{
	return 2;
}

void *door_find_default(const char *name)
{
	void *volatile found =
		dlsym(RTLD_DEFAULT, name); /* no tail call, which would look up from our caller */
	return found;
}

void *door_find_next(const char *name)
{
	void *volatile found = dlsym(RTLD_NEXT, name);
	return found;
}
