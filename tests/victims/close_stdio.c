/* Closes descriptors 0 to 2 before its first allocation: the recorder must not reuse them. */
#include "victim.h"

int main(void)
{
	int keep = fcntl(1, F_DUPFD_CLOEXEC, 10);
	must(keep >= 10);
	close(0);
	close(1);
	close(2);
	struct driver driver = need_driver(FROM_PROC_ADDRESS);
	alloc_and_free(&driver, 100);
	usleep(100000); /* the recorder's thread opens its file */
	bool is_empty = true;
	for (int file = 0; file < 3; file++)
		is_empty = is_empty && fcntl(file, F_GETFD) == -1;
	must(write(1, "stray\n", 6) == -1 && errno == EBADF);
	claim("alloc", 100);
	claim("free", 100);
	must(dprintf(keep, "descriptors 0 to 2 %s\n", is_empty ? "stayed free" : "were taken") > 0);
	return !is_empty;
}
