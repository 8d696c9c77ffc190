/*
 * Closes every descriptor, opens sockets in their place and streams through them. Meanwhile it
 * allocates from code without unwind information, where an unwinder tests memory by writing to
 * descriptors that it believes to own. The streams must contain exactly the bytes that were sent.
 */
#include "victim.h"

#include <sys/mman.h>
#include <sys/socket.h>

#define PAIRS 8
#define CODE_BYTES 4096u

static struct driver driver;

/* push %rbx; call *%rdi; pop %rbx; ret */
static const unsigned char made_code[] = { 0x53, 0xff, 0xd7, 0x5b, 0xc3 };

static void allocate(void)
{
	alloc_and_free(&driver, 1);
}

static void allocate_below(unsigned char *code)
{
	void (*call)(void (*)(void));
	memcpy(code, made_code, sizeof made_code);
	memcpy(&call, &code, sizeof code);
	call(allocate);
}

static void stream(int from, int to, unsigned round, unsigned char *code)
{
	char sent[61], got[61];
	for (unsigned i = 0; i < 16; i++) {
		memset(sent, (int)(round * 7 + i) & 0x7f, sizeof sent);
		must(write(from, sent, sizeof sent) == sizeof sent);
		allocate_below(code + i * 8);
		must(read(to, got, sizeof got) == sizeof got);
		must(memcmp(sent, got, sizeof got) == 0);
	}
	must(recv(to, got, sizeof got, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	must(recv(from, got, sizeof got, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

int main(int argc, char **argv)
{
	unsigned long rounds = count_argument(argc, argv, 30);
	driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 1);
	for (unsigned r = 0; r < rounds; r++) {
		int pair[PAIRS][2];
		void *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(code != MAP_FAILED);
		for (int file = 3; file < 1024; file++)
			close(file);
		for (int i = 0; i < PAIRS; i++)
			must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]) == 0);
		for (int i = 0; i < PAIRS; i++)
			stream(pair[i][0], pair[i][1], r, (unsigned char *)code + i * 128);
		munmap(code, CODE_BYTES);
	}
	claim("alloc", 1 + rounds * PAIRS * 16);
	claim("free", 1 + rounds * PAIRS * 16);
	puts("every byte arrived");
	return 0;
}
