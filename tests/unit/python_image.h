/*
 * An interpreter made of bytes, for tests of the Python walk: objects with their fields at the
 * offsets of one minor version of CPython. The offsets are written here a second time on purpose:
 * an error in the recorder's table becomes a difference.
 */
#ifndef GP_PYTHON_IMAGE_H
#define GP_PYTHON_IMAGE_H

#include <stdint.h>
#include <string.h>

#include "record/python/python_walk.h"

struct spec {
	unsigned minor;
	int thread_frame, cframe, previous, code, instruction, owner;
	int file, name, first_line, lines, bytecode, traceable;
	int ascii, other;
};

static const struct spec specs[] = {
	{ 8, 24, -1, 24, 32, 104, -1, 104, 112, 40, 120, 48, -1, 48, 72 },
	{ 9, 24, -1, 24, 32, 104, -1, 104, 112, 40, 120, 48, -1, 48, 72 },
	{ 10, 24, -1, 24, 32, 96, -1, 104, 112, 40, 120, 48, -1, 48, 72 },
	{ 11, 56, 8, 48, 32, 56, 69, 112, 128, 72, 136, 184, 168, 48, 72 },
	{ 12, 56, 0, 8, 0, 56, 70, 112, 128, 68, 136, 192, 176, 40, 56 },
	{ 13, 72, -1, 8, 0, 56, 70, 112, 128, 68, 136, 200, 184, 40, 56 },
	{ 14, 72, -1, 8, 0, 56, 74, 112, 128, 68, 136, 208, 192, 40, 56 },
};
#define SPECS (sizeof specs / sizeof *specs)

/* One of the interpreter's objects; 16 bytes apart like malloc's, since pointers have tags. */
union object {
	_Alignas(16) unsigned char bytes[256];
};

struct image {
	const struct spec *spec;
	unsigned long version;
	union object runtime[4];
	union object thread, cframe, code_type, frame_type, text_type, bytes_type;
	union object frames[80], shims[80], codes[8], texts[16], tables[8];
	unsigned frames_used, first_frame, codes_used, texts_used;
	const void *outermost; /* place of the link to the next frame */
	int is_ending, ending_checks;
	const void *freed; /* not NULL: pointers lead there as soon as the end may have begun */
	unsigned looked_up;
	const union object *last_loop; /* loop of the newest entry */
	union object cframes[32];
	unsigned cframes_used;
	unsigned ended; /* code objects freed by the interpreter's own function */
	const void *ended_last;
};

static struct image image;

static inline void put_pointer(union object *object, int at, const void *value)
{
	memcpy(object->bytes + at, &value, sizeof value);
}
static inline void put_long(union object *object, int at, int64_t value)
{
	memcpy(object->bytes + at, &value, sizeof value);
}
static inline void put_int(union object *object, int at, int32_t value)
{
	memcpy(object->bytes + at, &value, sizeof value);
}

/* _Py_DebugOffsets: byte position and value of each number that the walk compares. */
static inline void publish(void)
{
	const struct spec *s = image.spec;
	const int at13[] = { 184, 232, 240, 248, 264, 280, 296, 304,
			     312, 344, 360, 520, 528, 544, 552, 560 };
	const int at14[] = { 208, 256, 264, 272, 288, 320, 336, 344,
			     352, 384, 408, 600, 608, 624, 632, 640 };
	const int value[] = { s->thread_frame,
			      s->previous,
			      s->code,
			      s->instruction,
			      s->owner,
			      s->file,
			      s->name,
			      s->lines,
			      s->first_line,
			      s->bytecode,
			      8,
			      16,
			      32,
			      32,
			      16,
			      s->ascii };
	memcpy(image.runtime->bytes, "xdebugpy", 8);
	put_long(image.runtime, 8, (int64_t)image.version);
	for (size_t k = 0; k < sizeof value / sizeof *value; k++)
		put_long(image.runtime, s->minor == 13 ? at13[k] : at14[k], value[k]);
}

/* The newest interpreter and the main interpreter: the same one. */
static inline void list_interpreters(void)
{
	const int at = image.spec->minor < 11 ? 32 : 40;
	put_pointer(image.runtime, at, &image);
	put_pointer(image.runtime, at + 8, &image);
}

static inline void *image_thread(void)
{
	return &image.thread;
}
static inline void *image_interpreter(void)
{
	return &image;
}
/*
 * `is_ending` n: the n-th call reports that the end has begun. With `freed` the end begins just
 * after each call that reports no end: frames are freed then.
 */
static inline int image_is_ending(void)
{
	int answer = ++image.ending_checks >= image.is_ending && image.is_ending;
	if (image.freed) {
		put_pointer(&image.thread, image.spec->thread_frame, image.freed);
		if (image.ending_checks > 1 && image.spec->cframe >= 0)
			put_pointer(&image.cframe, image.spec->cframe, image.freed);
	}
	return answer;
}
static inline const char *image_version_text(void)
{
	static char text[] = "3.0.5 (main, a date)";
	static const char minors[][16] = { "3.8.5 (main)", "3.9.5 (main)", "3.10.5 (main)" };
	return image.spec->minor <= 10 ? minors[image.spec->minor - 8] : text;
}

static inline void *image_symbol(void *context, const char *name)
{
	(void)context;
	image.looked_up++;
	if (strcmp(name, "PyGILState_GetThisThreadState") == 0)
		return (void *)image_thread;
	if (strcmp(name, "PyInterpreterState_Main") == 0)
		return (void *)image_interpreter;
	if (strcmp(name, image.spec->minor < 13 ? "_Py_IsFinalizing" : "Py_IsFinalizing") == 0)
		return (void *)image_is_ending;
	if (strcmp(name, "Py_GetVersion") == 0)
		return (void *)image_version_text;
	if (strcmp(name, "Py_Version") == 0)
		return image.spec->minor < 11 ? NULL : &image.version;
	if (strcmp(name, "_PyRuntime") == 0)
		return image.runtime;
	if (strcmp(name, "PyCode_Type") == 0)
		return &image.code_type;
	if (strcmp(name, "PyFrame_Type") == 0)
		return &image.frame_type;
	if (strcmp(name, "PyUnicode_Type") == 0)
		return &image.text_type;
	if (strcmp(name, "PyBytes_Type") == 0)
		return &image.bytes_type;
	return NULL;
}

static inline void image_end_code(void *code)
{
	image.ended++;
	image.ended_last = code;
}
/* Drops the last reference. Another code object takes the address. */
static inline void image_drop(union object *code)
{
	void (*end)(void *);
	memcpy(&end, image.code_type.bytes + 48, sizeof end);
	end(code);
}

static inline void image_start(const struct spec *spec)
{
	memset(&image, 0, sizeof image);
	image.spec = spec;
	image.version = 3u << 24 | (unsigned long)spec->minor << 16 | 0x05f0;
	if (spec->minor < 13)
		list_interpreters();
	else
		publish();
	put_pointer(&image.code_type, 24, "code");
	put_pointer(&image.code_type, 48, (const void *)image_end_code);
	image.outermost = NULL;
}

/* A compact ASCII str. */
static inline const union object *image_text(const char *text)
{
	union object *object = &image.texts[image.texts_used++];
	put_pointer(object, 8, &image.text_type);
	put_long(object, 16, (int64_t)strlen(text));
	put_int(object, 32, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(object->bytes + image.spec->ascii, text, strlen(text));
	return object;
}

/*
 * A code object of 40 instructions, each on a line of its own from `first_line` on. The first three
 * instructions are not traceable.
 */
static inline union object *image_code(const char *file, const char *name, int32_t first_line)
{
	const struct spec *s = image.spec;
	union object *code = &image.codes[image.codes_used];
	union object *table = &image.tables[image.codes_used++];
	put_pointer(code, 8, &image.code_type);
	put_pointer(code, s->file, image_text(file));
	put_pointer(code, s->name, image_text(name));
	put_int(code, s->first_line, first_line);
	put_pointer(code, s->lines, table);
	if (s->minor >= 11) {
		put_long(code, 16, 40);
		put_int(code, s->traceable, 4);
	}
	put_pointer(table, 8, &image.bytes_type);
	put_long(table, 16, 80);
	for (int k = 0; k < 40; k++) {
		/* pairs (2 bytes, + 1 line), the first + 0; or location entries of one unit */
		int plus = k > 0;
		table->bytes[32 + 2 * k] =
			(unsigned char)(s->minor < 11 ? 2 : 0x80 | (10 + plus) << 3);
		table->bytes[33 + 2 * k] = (unsigned char)(s->minor < 11 ? plus : 1);
	}
	if (s->minor < 10) /* before 3.10 the line of a pair begins after its bytes */
		for (int k = 0; k < 40; k++)
			table->bytes[33 + 2 * k] = 1;
	return code;
}

/* Links another frame outside of the present ones: instruction `unit` of `code`; NULL: a shim. */
static inline union object *image_frame(union object *code, int unit, int owner)
{
	const struct spec *s = image.spec;
	union object *frame = &image.frames[image.frames_used++];
	uintptr_t tag = s->minor == 14; /* _PyStackRef */
	if (s->owner >= 0)
		frame->bytes[s->owner] = (unsigned char)owner;
	put_pointer(frame, s->code, (const void *)((uintptr_t)code | tag));
	if (s->minor < 11) {
		put_pointer(frame, 8, &image.frame_type);
		put_int(frame, s->instruction, s->minor == 10 || unit < 0 ? unit : 2 * unit);
	} else if (code) {
		put_pointer(frame, s->instruction, code->bytes + s->bytecode + 2 * unit);
	}
	if (image.frames_used > image.first_frame + 1)
		put_pointer(frame - 1, s->previous, frame);
	else if (s->cframe < 0)
		put_pointer(&image.thread, s->thread_frame, frame);
	else {
		put_pointer(&image.thread, s->thread_frame, &image.cframe);
		put_pointer(&image.cframe, s->cframe, frame);
	}
	return frame;
}

/* All frames return; the next frame is `place` positions further than the first one was. */
static inline void image_return(unsigned place)
{
	memset(image.frames, 0, sizeof image.frames);
	memset(image.cframes, 0, sizeof image.cframes);
	image.frames_used = image.first_frame = place;
	image.cframes_used = 0;
}

/* Ends the frames of one C-level call of the interpreter: a mark, or a link to an outer frame. */
static inline void image_entry(void)
{
	if (image.spec->minor == 11) {
		/* its _PyCFrame; the innermost is the thread's */
		union object *next = &image.cframes[image.cframes_used++];
		union object *last = image.cframes_used > 1 ? next - 1 : &image.cframe;
		image.frames[image.frames_used - 1].bytes[68] = 1;
		put_pointer(last, 16, next);
		image.last_loop = last;
	}
	if (image.spec->minor > 11)
		image.last_loop = image_frame(
			NULL, 0, image.spec->minor == 14 && image.frames_used % 2 ? 4 : 3);
}

#endif
