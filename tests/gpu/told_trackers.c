/*
 * Removes the trace trackers of PyTorch's caching allocator and restores them, to measure their
 * cost inside PyTorch in one process. PyTorch has no call for that: the list is found by an empty
 * tracker that this library adds at its end. For a script that loads it with ctypes after the first
 * CUDA tensor, and calls it while the job does not allocate. First device only.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define ATTACH                                                           \
	"_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator" \
	"27attachAllocatorTraceTrackerESt8functionIFvRKN3c10"
#define SLOTS_MAX 120
#define TRACKERS_MAX 8u
#define PART_WORDS 8192u /* words to search in the allocator and in a device's part of it */

struct any_function { /* libstdc++'s std::function */
	void *state[2];
	int (*manage)(void *to, const void *from, int operation);
	void (*call)(const void *state, const void *entry);
};

struct list { /* libstdc++'s std::vector */
	uintptr_t first, end, capacity;
};

static struct list *trackers;
static uintptr_t all_end;

static int manage(void *to, const void *from, int operation)
{
	if (operation == 1)
		*(const void **)to = from;
	else if (operation == 2)
		memcpy(to, from, sizeof(void *[2]));
	return 0;
}

static void ignore(const void *state, const void *entry)
{
	(void)state;
	(void)entry;
}

static int keep_path(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char **wanted = context;
	if (!slash || strncmp(slash + 1, wanted[0], strlen(wanted[0])) != 0)
		return 0;
	wanted[1] = info->dlpi_name;
	return 1;
}

static void *mapped(const char *library)
{
	const char *wanted[2] = { library, NULL };
	dl_iterate_phdr(keep_path, wanted);
	return wanted[1] ? dlopen(wanted[1], RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

/* Reads as many words at `from` as are mapped, because a guessed address may be invalid. */
static size_t read_words(uintptr_t from, uintptr_t *words, size_t count)
{
	size_t got = 0;
	while (got < count) {
		uintptr_t at = from + got * sizeof *words;
		size_t bytes = 4096 - at % 4096;
		if (bytes > (count - got) * sizeof *words)
			bytes = (count - got) * sizeof *words;
		struct iovec to = { words + got, bytes }, piece = { (void *)at, bytes };
		if (process_vm_readv(getpid(), &to, 1, &piece, 1, 0) != (ssize_t)bytes)
			break;
		got += bytes / sizeof *words;
	}
	return got;
}

static int is_list(const uintptr_t *words, size_t element, size_t max)
{
	uintptr_t bytes = words[1] - words[0];
	return words[0] && words[0] % sizeof(void *) == 0 && bytes && bytes % element == 0 &&
	       bytes / element <= max && words[2] >= words[1];
}

static struct list *find_in_part(uintptr_t part)
{
	static uintptr_t words[PART_WORDS];
	size_t count = read_words(part, words, PART_WORDS);
	for (size_t i = 0; i + 2 < count; i++) {
		struct any_function last;
		if (!is_list(words + i, sizeof last, TRACKERS_MAX + 1) ||
		    read_words(words[i + 1] - sizeof last, (uintptr_t *)&last, 4) < 4)
			continue;
		if (last.call == ignore)
			return (struct list *)(part + i * sizeof *words);
	}
	return NULL;
}

static struct list *find_list(uintptr_t object)
{
	static uintptr_t words[PART_WORDS];
	size_t count = read_words(object, words, PART_WORDS);
	for (size_t i = 0; i + 2 < count; i++) {
		uintptr_t part;
		struct list *found = NULL;
		if (is_list(words + i, sizeof part, 64) && read_words(words[i], &part, 1))
			found = find_in_part(part);
		if (found)
			return found;
	}
	return NULL;
}

static int attach(void **allocator)
{
	void *c10 = mapped("libc10_cuda.so"), *cuda = mapped("libtorch_cuda.so");
	if (!c10 || !cuda)
		return __LINE__;
	void ***object = *(void ****)dlsym(c10, "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
	void **table =
		dlsym(cuda, "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE");
	void *own = dlsym(cuda, ATTACH "22CachingDeviceAllocator10TraceEntryEEE");
	if (!own)
		own = dlsym(cuda, ATTACH "4cuda20CUDACachingAllocator10TraceEntryEEE");
	if (!object || !table || !own)
		return __LINE__;
	int slot = 2;
	while (slot < SLOTS_MAX && table[slot] != own)
		slot++;
	if (slot == SLOTS_MAX)
		return __LINE__;
	struct any_function tracker = { { NULL, NULL }, manage, ignore };
	void (*call)(void *, struct any_function *);
	memcpy(&call, &(*object)[slot - 2], sizeof call);
	call(object, &tracker);
	*allocator = object;
	return 0;
}

/* Returns the number of trackers, or minus the line of the failure. */
int find_trackers(void)
{
	void *allocator;
	int failed = attach(&allocator);
	if (failed)
		return -failed;
	trackers = find_list((uintptr_t)allocator);
	if (!trackers)
		return -__LINE__;
	trackers->end -= sizeof(struct any_function); /* it is empty, so it needs no destructor */
	all_end = trackers->end;
	return (int)((all_end - trackers->first) / sizeof(struct any_function));
}

/* Call after find_trackers(). Removes all trackers, or restores all of them. */
void tell_trackers(int are_told)
{
	trackers->end = are_told ? all_end : trackers->first;
}
