/* The three widths of characters in a str, and their conversion to UTF-8. */
#include <string.h>

#include "python_object.h"
#include "python_text.h"

#define CUT_MARK "..."
#define CUT_BYTES (sizeof CUT_MARK - 1)

/* PyASCIIObject.state, from bit 0: interned (2 bits, may change), kind (3), compact, ascii */
struct form {
	unsigned width; /* bytes a character: 1, 2 or 4 */
	int64_t length; /* characters */
	const unsigned char *data;
};

static bool read_form(const struct gp_python_layout *l, const void *object, struct form *form)
{
	uint32_t state = (uint32_t)gp_int_at(object, l->text_state);
	bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
	form->width = state >> 2 & 7;
	form->length = gp_long_at(object, l->text_length);
	if (!is_compact)
		form->data = gp_pointer_at(object, l->text_other);
	else
		form->data =
			(const unsigned char *)object + (is_ascii ? l->text_ascii : l->text_other);
	return (form->width == 1 || form->width == 2 || form->width == 4) && form->length >= 0 &&
	       form->data;
}

static uint32_t character(const struct form *form, int64_t k)
{
	uint32_t wide = form->data[k];
	uint16_t half;
	if (form->width == 2) {
		memcpy(&half, form->data + 2 * k, sizeof half);
		wide = half;
	} else if (form->width == 4) {
		memcpy(&wide, form->data + 4 * k, sizeof wide);
	}
	return wide;
}

static unsigned encode(uint32_t c, unsigned char out[4])
{
	if (c < 0x80) {
		out[0] = (unsigned char)c;
		return 1;
	}
	unsigned n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (unsigned k = n - 1; k > 0; k--, c >>= 6)
		out[k] = (unsigned char)(0x80 | (c & 0x3f));
	out[0] = (unsigned char)(heads[n] | c);
	return n;
}

/* `fit`: the last length at which the end mark still fitted */
static void python_text_cut(struct gp_python_text *out, size_t fit)
{
	size_t mark = out->room < CUT_BYTES ? out->room : CUT_BYTES;
	memcpy(out->bytes + fit, CUT_MARK, mark);
	out->size = fit + mark;
	out->is_cut = true;
}

static void copy_all(const struct form *form, struct gp_python_text *out)
{
	size_t size = 0, fit = 0;
	for (int64_t k = 0; k < form->length; k++) {
		unsigned char bytes[4];
		unsigned n = encode(character(form, k), bytes);
		if (size + n > out->room) {
			python_text_cut(out, fit);
			return;
		}
		memcpy(out->bytes + size, bytes, n);
		size += n;
		if (size + CUT_BYTES <= out->room)
			fit = size;
	}
	out->size = size;
}

void gp_python_text_copy(const struct gp_python_layout *layout, const void *text_type,
			 const void *object, struct gp_python_text *out)
{
	struct form form;
	out->size = 0;
	out->is_cut = false;
	if (!object || gp_pointer_at(object, layout->object_type) != text_type ||
	    !read_form(layout, object, &form))
		form = (struct form){ 1, 1, (const unsigned char *)"?" };
	copy_all(&form, out);
}
