/* Stacks of a recording, by section 6 of docs/FORMAT.md: two interleaved chains. */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PYTHON_CODE = 8, NATIVE_FRAME, PYTHON_FRAME, CALL_STACK, IDS = 1 << 22 };

static struct part {
	uint16_t kind;
	uint64_t v[4];
	char *file, *name;
} * parts;

void learn_stack_part(const struct record *r)
{
	if (r->kind < PYTHON_CODE || r->kind > CALL_STACK || !r->v[4] || r->v[4] >= IDS)
		return;
	if (!parts)
		parts = calloc(IDS, sizeof *parts);
	need(parts != NULL, "no memory");
	struct part *p = &parts[r->v[4]];
	p->kind = r->kind;
	memcpy(p->v, r->v, sizeof p->v);
	if (r->kind == PYTHON_CODE && r->text) {
		size_t file = strlen(r->text);
		p->file = r->text;
		p->name = file < r->text_bytes ? r->text + file + 1 : "";
	}
}

static const struct part *part(uint64_t id, uint16_t kind)
{
	return parts && id && id < IDS && parts[id].kind == kind ? &parts[id] : NULL;
}

static void print_or_null(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	if (text)
		print_text(text, (uint32_t)strlen(text));
	else
		printf("null");
}

static const char *comma;

static void print_python(const struct part *p)
{
	const struct part *code = part(p->v[1], PYTHON_CODE);
	printf("%s{", comma);
	print_or_null("function", code ? code->name : NULL);
	printf(", ");
	print_or_null("file", code ? code->file : NULL);
	if (p->v[2])
		printf(", \"line\": %llu", (unsigned long long)p->v[2]);
	else
		printf(", \"line\": null");
	printf(", \"module\": null, \"why\": null}");
	comma = ", ";
}

void print_stack(uint64_t id)
{
	const struct part *stack = part(id, CALL_STACK);
	if (!stack) {
		printf("null");
		return;
	}
	const struct part *python = part(stack->v[1], PYTHON_FRAME);
	comma = "";
	printf("[");
	for (const struct part *native = part(stack->v[0], NATIVE_FRAME); native;
	     native = part(native->v[0], NATIVE_FRAME)) {
		for (int is_entry = !native->v[2]; python && !is_entry;
		     python = part(python->v[0], PYTHON_FRAME)) {
			print_python(python);
			is_entry = python->v[3] & 1;
		}
		printf("%s{\"function\": null, \"file\": null, \"line\": null, \"module\": null, "
		       "\"address\": \"0x%llx\", \"why\": \"not looked up\"}",
		       comma, (unsigned long long)native->v[1]);
		comma = ", ";
	}
	for (; python; python = part(python->v[0], PYTHON_FRAME))
		print_python(python);
	printf("]");
}
