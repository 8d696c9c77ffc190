/*
 * A libcuda.so.1 that fails every row and keeps what it was called with: how often, and a hash of
 * all arguments, each in its own width. Its cuGetProcAddress finds no function.
 */
#include "echo_driver.h"

#include <errno.h>

#include "../../interpose/driver/cuda_types.h"

struct echo echo;

static void add(const void *argument, size_t bytes)
{
	const unsigned char *byte = argument;
	for (size_t i = 0; i < bytes; i++)
		echo.hash = (echo.hash ^ byte[i]) * 0x100000001b3u;
	echo.hash = (echo.hash ^ bytes) * 0x100000001b3u;
}

/* ADD_ALL((a, b, c)) adds each */
#define ADD(x) add(&x, sizeof x);
#define ADD_ALL(list) ADD_LIST list
#define ADD_LIST(...)                                                               \
	__VA_OPT__(PICK(__VA_ARGS__, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, \
			A1, )(__VA_ARGS__))
#define PICK(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define A1(a) ADD(a)
#define A2(a, ...) ADD(a) A1(__VA_ARGS__)
#define A3(a, ...) ADD(a) A2(__VA_ARGS__)
#define A4(a, ...) ADD(a) A3(__VA_ARGS__)
#define A5(a, ...) ADD(a) A4(__VA_ARGS__)
#define A6(a, ...) ADD(a) A5(__VA_ARGS__)
#define A7(a, ...) ADD(a) A6(__VA_ARGS__)
#define A8(a, ...) ADD(a) A7(__VA_ARGS__)
#define A9(a, ...) ADD(a) A8(__VA_ARGS__)
#define A10(a, ...) ADD(a) A9(__VA_ARGS__)
#define A11(a, ...) ADD(a) A10(__VA_ARGS__)
#define A12(a, ...) ADD(a) A11(__VA_ARGS__)

#define CUDA(symbol, parameters, arguments, hook) \
	CUresult symbol parameters;               \
	CUresult symbol parameters                \
	{                                         \
		echo.calls++;                     \
		echo.last = #symbol;              \
		ADD_ALL(arguments)                \
		errno = ECHO_ERRNO;               \
		return ECHO_RESULT;               \
	}
/* Arguments do not matter: the caller removes them. */
#define CALL(symbol, parameters)                   \
	CUresult symbol(void);                     \
	CUresult symbol(void)                      \
	{                                          \
		echo.others++;                     \
		return CUDA_ERROR_NOT_INITIALIZED; \
	}
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL

/* Its own functions, also when another library is in front of its exports. */
#define CUDA(symbol, parameters, arguments, hook) \
	extern __typeof__(symbol) own_##symbol    \
		__attribute__((alias(#symbol), visibility("hidden")));
#define CALL(symbol, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL

const struct echo_row echo_rows[] = {
#define CUDA(symbol, parameters, arguments, hook) \
	{ #symbol, (echo_function *)(void *)own_##symbol },
#define CALL(symbol, parameters)
#include "../../interpose/driver/cuda_api.def"
#undef CUDA
#undef CALL
	{ NULL, NULL },
};

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	(void)flags;
	return 0;
}
