/* Opens the plugin of entry_shim.c and prints which functions its pseudo handles find. */
#include "entry_probe.h"

int main(void)
{
	void *plugin = dlopen("libentry_plugin.so", RTLD_NOW | RTLD_LOCAL), *context;
	MUST(plugin, "%s", dlerror());
	int (*calls)(void *), (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
	*(void **)&calls = dlsym(plugin, "entry_plugin_calls");
	*(void **)&init = dlsym(plugin, "cuInit");
	*(void **)&retain = dlsym(plugin, "cuDevicePrimaryCtxRetain");
	*(void **)&set = dlsym(plugin, "cuCtxSetCurrent");
	MUST(init(0) == 0 && retain(&context, 0) == 0 && set(context) == 0, "no device");
	printf("RTLD_NEXT: the shim saw %d calls\n", calls(RTLD_NEXT));
	printf("RTLD_DEFAULT: the shim saw %d calls\n", calls(RTLD_DEFAULT));
	return 0;
}
