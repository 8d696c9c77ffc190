/*
 * Allocates below code made at run time without unwind information, at addresses that never repeat.
 * Some frames below it have values that could be mistaken for frame pointers.
 */
#include "victim.h"

#include <sys/mman.h>

#define ROOM (1u << 20)

static struct driver driver;

/* push %rbp; mov $1, %ebp; call *%rdi; pop %rbp; ret */
static const unsigned char made_code[] = { 0x55, 0xbd, 0x01, 0x00, 0x00,
					   0x00, 0xff, 0xd7, 0x5d, 0xc3 };

static void allocate(void)
{
	alloc_and_free(&driver, 1);
}

int main(int argc, char **argv)
{
	unsigned long calls = count_argument(argc, argv, 20000);
	driver = need_driver(FROM_PROC_ADDRESS);
	unsigned char *code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(code != MAP_FAILED);
	for (unsigned long i = 0; i < calls; i++) {
		unsigned char *at = code + i * 16 % ROOM;
		void (*call)(void (*)(void));
		memcpy(at, made_code, sizeof made_code);
		memcpy(&call, &at, sizeof at);
		call(allocate);
	}
	claim("alloc", calls);
	claim("free", calls);
	puts("done");
	return 0;
}
