/*
 * Allocates until it is killed. The expected counts lie in a page of its own: one counter for each
 * thread, incremented after each pair of calls has returned. count_up FILE [threads]
 */
#include "victim.h"

#include <sys/mman.h>

#include "count_page.h"

static struct driver driver;
static struct count_page *page;

static void *work(void *argument)
{
	long index = (long)(intptr_t)argument;
	must(driver_use(&driver, 0));
	for (uint64_t i = 1;; i++) {
		CUdeviceptr address = must_alloc(&driver, 512 + i % 100 * 512);
		atomic_store(&page->thread[index].allocs, i);
		must(driver.cuMemFree_v2(address) == CUDA_SUCCESS);
		atomic_store(&page->thread[index].frees, i);
		work_for(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? atol(argv[2]) : 2;
	must(argc > 1 && threads >= 1 && threads <= COUNT_THREADS);
	int file = open(argv[1], O_RDWR | O_CREAT, 0600);
	must(file >= 0 && ftruncate(file, sizeof *page) == 0);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	must(page != MAP_FAILED);
	close(file);
	driver = need_driver(FROM_PROC_ADDRESS);
	page->pid = (uint64_t)getpid();
	for (long i = 1; i < threads; i++) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, work, (void *)(intptr_t)i) == 0);
	}
	work(NULL);
	return 71;
}
