/*
 * Calls whose places the compiler itself reports: each passes its line and the functions that
 * contain it, innermost first. Built with debug information, without, stripped, split and rebuilt.
 */
#include "places.h"

#define HERE(functions) tell(__LINE__, functions)

static __attribute__((noinline)) void hidden_leaf(place_function *tell)
{
	HERE("hidden_leaf");
	HERE("hidden_leaf");
}

static inline __attribute__((always_inline)) void inlined_twice(place_function *tell)
{
	HERE("inlined_twice inlined_once places_run");
}

static inline __attribute__((always_inline)) void inlined_once(place_function *tell)
{
	HERE("inlined_once places_run");
	inlined_twice(tell);
}

/* the name that a C++ compiler gives at::_ops::addmm::call(at::Tensor const&) */
void addmm(place_function *tell) __asm__("_ZN2at4_ops5addmm4callERKNS_6TensorE");
__attribute__((noinline)) void addmm(place_function *tell)
{
	HERE("at::_ops::addmm::call");
#ifdef REBUILT
	HERE("at::_ops::addmm::call");
#endif
}

static __attribute__((noreturn, noinline)) void last(place_function *tell)
{
	HERE("last");
	__builtin_unreachable();
}

/* the next function follows its last call directly, so a return address there is outside of it */
__attribute__((noinline)) void places_never_returns(place_function *tell)
{
	HERE("places_never_returns");
	last(tell);
}
__attribute__((noinline)) void places_next(place_function *tell)
{
	HERE("places_next");
	tell(0, 0);
}

void places_run(place_function *tell)
{
	HERE("places_run");
	hidden_leaf(tell);
	inlined_once(tell);
	addmm(tell);
	HERE("places_run");
	places_next(tell);
}
