/* Records with a text behind them: names that stacks are defined with. */
#ifndef STACK_RECORDS_H
#define STACK_RECORDS_H

#include "recording_writer.h"

static void put_text(struct writer *w, struct gp_record r, const char *text, size_t n)
{
	struct gp_record slots[4] = { r };
	uint64_t length = n;
	memcpy(slots + 1, &length, sizeof length);
	memcpy((char *)(slots + 1) + 8, text, n);
	slots->extra = (uint8_t)((n + 8 + 63) / 64);
	slots->order = w->order;
	slots->time = w->time;
	for (unsigned k = 0; k <= slots->extra; k++)
		w->buffer[0][w->buffered[0]++] = slots[k];
}

#endif
