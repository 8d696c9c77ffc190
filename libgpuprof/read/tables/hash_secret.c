/* The secret of format/seeded_hash.h, drawn at program start, before any hash is computed. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../../format/seeded_hash.h"
#include "../../gpuprof.h"

static uint64_t secret[2] = { 0x9e3779b97f4a7c15u, 0xd1342543de82ef95u };
extern const uint64_t gp_hash_secret[2] __attribute__((alias("secret")));

__attribute__((constructor)) static void secret_draw(void)
{
	uint64_t drawn[2];
	struct timespec now;
	if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn) {
		/* fallback early after boot, when the kernel has no random bytes */
		clock_gettime(CLOCK_MONOTONIC, &now);
		drawn[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
		drawn[1] = (uint64_t)(uintptr_t)&now;
	}
	for (unsigned k = 0; k < 2; k++)
		secret[k] = (secret[k] ^ drawn[k]) | 1;
}

uint64_t gp_hash_pair(uint64_t a, uint64_t b)
{
	return gp_hash_number(gp_hash_number(a) ^ b);
}

uint64_t gp_hash_text(const char *text)
{
	return gp_hash_bytes(text, strlen(text));
}
