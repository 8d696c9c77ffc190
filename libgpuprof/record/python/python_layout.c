/*
 * Chooses a layout from the table. Since 3.13 the interpreter publishes its own offsets. Table and
 * interpreter must agree, so that a build unlike the release is detected.
 */
#include <stdlib.h>
#include <string.h>

#include "python_layout.h"

#define NONE GP_PYTHON_NONE
#define CANDIDATE 0xc0u /* levels of PY_VERSION_HEX */
#define RELEASED 0xf0u
#define PUBLISHES 13 /* the first minor version whose _PyRuntime begins with _Py_DebugOffsets */

/* _Py_DebugOffsets begins with: char cookie[8], u64 version, u64 free_threaded */
#define COOKIE "xdebugpy"
#define VERSION_AT 8
#define FREE_THREADED_AT 16

static uint64_t published(const unsigned char *runtime, unsigned at)
{
	uint64_t value;
	memcpy(&value, runtime + at, sizeof value);
	return value;
}

static void python_layout_fill(struct gp_python_layout *layout, unsigned minor)
{
	unsigned column = minor - GP_PYTHON_OLDEST;
#define FIELD(name, ...) layout->name = (const int16_t[]){ __VA_ARGS__ }[column];
#include "python_layout.def"
#undef FIELD
	layout->minor = (uint8_t)minor;
	layout->scale = minor == 10 ? 2 : 1;
	layout->lines = minor < 10  ? GP_PYTHON_LNOTAB :
			minor == 10 ? GP_PYTHON_LINETABLE :
				      GP_PYTHON_LOCATIONS;
}

static bool is_as_published(const struct gp_python_layout *layout, const unsigned char *runtime)
{
	bool is_13 = layout->minor == 13;
#define DEBUG(name, at13, at14)                                                    \
	if (published(runtime, is_13 ? (at13) : (at14)) != (uint64_t)layout->name) \
		return false;
#include "python_layout.def"
#undef DEBUG
	return true;
}

uint32_t gp_python_parse_version(const char *text)
{
	char *end;
	if (!text || strncmp(text, "3.", 2) != 0)
		return 0;
	const uint32_t minor = (uint32_t)strtoul(text + 2, &end, 10) & 0xff;
	if (*end != '.')
		return 0;
	strtoul(end + 1, &end, 10);
	return 3u << 24 | minor << 16 | (*end == 'a' || *end == 'b' ? 0xa0 : RELEASED);
}

static bool has_symbols(const struct gp_python_symbols *s)
{
	return s->thread_state && s->main_interpreter && s->is_finalizing && s->runtime &&
	       s->code_type && s->frame_type && s->text_type && s->bytes_type;
}

const char *gp_python_layout_find(const struct gp_python_symbols *symbols,
				  struct gp_python_layout *layout)
{
	uint32_t version = 0;
	if (symbols->version)
		version = (uint32_t)*symbols->version;
	else if (symbols->version_text)
		version = gp_python_parse_version(symbols->version_text());
	uint32_t minor = version >> 16 & 0xff;
	if (version >> 24 != 3 || minor < GP_PYTHON_OLDEST || minor > GP_PYTHON_NEWEST)
		return "this version of Python is not known, CPython 3.8 to 3.14 are";
	if ((version & 0xf0) < CANDIDATE)
		return "this Python is not a release";
	if (!has_symbols(symbols))
		return "this Python does not export what is needed";
	python_layout_fill(layout, minor);
	if (minor < PUBLISHES)
		return NULL;
	if (memcmp(symbols->runtime, COOKIE, sizeof COOKIE - 1) != 0)
		return "this Python does not publish its offsets";
	if (published(symbols->runtime, VERSION_AT) != version)
		return "this Python publishes the offsets of another version";
	if (published(symbols->runtime, FREE_THREADED_AT) != 0)
		return "this Python runs without the GIL";
	if (!is_as_published(layout, symbols->runtime))
		return "this Python publishes other offsets than its release has";
	return NULL;
}
