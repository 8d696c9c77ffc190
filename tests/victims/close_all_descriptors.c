/*
 * Closes every descriptor again and again, opens its own, and checks that each byte arrives at the
 * descriptor to which it was sent.
 */
#include "victim.h"

#include <sys/socket.h>

static void check_pipe(unsigned round, const struct driver *driver)
{
	int pair[2];
	char sent[64], got[64];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (unsigned i = 0; i < 16; i++) {
		memset(sent, (int)(round + i) & 0x7f, sizeof sent);
		must(write(pair[0], sent, sizeof sent) == sizeof sent);
		alloc_and_free(driver, 8);
		must(read(pair[1], got, sizeof got) == sizeof got);
		must(memcmp(sent, got, sizeof got) == 0);
	}
	/* it must contain nothing else */
	must(recv(pair[1], got, sizeof got, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

static void check_file(unsigned round, const struct driver *driver)
{
	char path[64], got[32] = "";
	snprintf(path, sizeof path, "/tmp/victim-%d-%u", (int)getpid(), round);
	int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	must(file >= 0);
	unlink(path);
	for (unsigned i = 0; i < 16; i++) {
		must(write(file, "0123456789", 10) == 10);
		alloc_and_free(driver, 8);
	}
	must(lseek(file, 0, SEEK_END) == 160);
	must(pread(file, got, 30, 130) == 30 && strcmp(got, "012345678901234567890123456789") == 0);
}

int main(int argc, char **argv)
{
	unsigned long rounds = count_argument(argc, argv, 50);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	for (unsigned r = 0; r < rounds; r++) {
		check_pipe(r, &driver);
		check_file(r, &driver);
		for (int file = 3; file < 1024; file++)
			close(file);
		usleep(r % 10 ? 0 : 30000); /* the recorder's thread may write meanwhile */
	}
	claim("alloc", rounds * 256);
	claim("free", rounds * 256);
	printf("every byte arrived\n");
	return 0;
}
