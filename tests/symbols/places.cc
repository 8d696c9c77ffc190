// The same for C++: namespaces, templates, a method, a constructor and a lambda. Bars separate the names in
// `functions`, because C++ names contain blanks.
extern "C" {
#include "places.h"
}

#define HERE(functions) tell(__LINE__, functions)
#ifdef __clang__
#define LAMBDA "places_run::$_0::operator()"
#else
#define LAMBDA "places_run::{lambda()#1}::operator()"
#endif

namespace gpu
{
namespace
{
__attribute__((noinline)) void hidden(place_function *tell)
{
	HERE("gpu::(anonymous namespace)::hidden");
}
struct ring {
	inline __attribute__((always_inline)) void turn(place_function *tell)
	{
		HERE("gpu::(anonymous namespace)::ring::turn|places_run");
	}
};
} // namespace

template <typename T> struct pool {
	place_function *tell;
	T bytes;
	__attribute__((noinline)) explicit pool(place_function *t, T n) : tell(t), bytes(n)
	{
		HERE("gpu::pool<int>::pool");
	}
	__attribute__((noinline)) void take()
	{
		HERE("gpu::pool<int>::take");
		grow();
	}
	inline __attribute__((always_inline)) void grow()
	{
		HERE("gpu::pool<int>::grow|gpu::pool<int>::take");
	}
};

template <typename F> __attribute__((noinline)) void later(F f)
{
	f();
	__asm__ volatile("");
}
} // namespace gpu

extern "C" void places_run(place_function *tell)
{
	HERE("places_run");
	gpu::hidden(tell);
	gpu::ring().turn(tell);
	gpu::pool<int> p(tell, 3);
	p.take();
	gpu::later([tell]() __attribute__((noinline)) { HERE(LAMBDA); });
	HERE("places_run");
}
