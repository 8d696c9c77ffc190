/*
 * The option for events with stacks: words separated by commas. "alloc", "memory" and "all" each
 * include the one before. "launch:100" is every 100th launch of a thread, alone ("launch:100") or
 * with memory ("memory,launch:100").
 */
#ifndef GP_STACK_EVENTS_H
#define GP_STACK_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Events with the caller's stack. */
enum gp_stack_on { GP_STACK_ON_ALLOC = 1, GP_STACK_ON_FREE = 2, GP_STACK_ON_LAUNCH = 4 };

struct gp_stack_events {
	uint32_t on;	/* enum gp_stack_on */
	uint32_t every; /* every n-th launch of a thread; 0: none */
};

/* 1 to 999,999,999; 0: not such a number. */
static inline uint32_t gp_stack_every_parse(const char *text, size_t n)
{
	uint32_t every = 0;
	for (size_t k = 0; k < n; k++) {
		if (text[k] < '0' || text[k] > '9' || n > 9)
			return 0;
		every = every * 10 + (uint32_t)(text[k] - '0');
	}
	return every;
}

/* False: not such a list, or it selects launches twice. */
static inline bool gp_stack_events_parse(const char *text, struct gp_stack_events *out)
{
	static const char launch[] = "launch:";
	struct gp_stack_events e = { 0, 0 };
	for (const char *word = text;; word++) {
		size_t n = strcspn(word, ",");
		uint32_t every = 0;
		if (n == 5 && memcmp(word, "alloc", n) == 0)
			e.on |= GP_STACK_ON_ALLOC;
		else if (n == 6 && memcmp(word, "memory", n) == 0)
			e.on |= GP_STACK_ON_ALLOC | GP_STACK_ON_FREE;
		else if (n == 3 && memcmp(word, "all", n) == 0)
			e.on |= GP_STACK_ON_ALLOC | GP_STACK_ON_FREE, every = 1;
		else if (n < sizeof launch || memcmp(word, launch, sizeof launch - 1) != 0 ||
			 (every = gp_stack_every_parse(word + sizeof launch - 1,
						       n - (sizeof launch - 1))) == 0)
			return false;
		if (every && e.every)
			return false;
		if (every)
			e = (struct gp_stack_events){ e.on | GP_STACK_ON_LAUNCH, every };
		word += n;
		if (*word == '\0')
			break;
	}
	*out = e;
	return true;
}

#endif
