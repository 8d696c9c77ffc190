/* Environment -> struct gp_settings. Runs in every preloaded process, so it only reads. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../format/stack_entry.h"
#include "record.h"

struct gp_settings gp_settings;

extern char **environ;
extern char *program_invocation_short_name;

enum option_id {
#define OPTION(NAME, variable, flag, letter, value, initial, text) OPTION_##NAME,
#include "../format/options.def"
#undef OPTION
	OPTIONS,
};

static const struct {
	const char *variable, *initial;
} options[OPTIONS] = {
#define OPTION(NAME, variable, flag, letter, value, initial, text) { variable, initial },
#include "../format/options.def"
#undef OPTION
};

static const char *option(enum option_id id)
{
	const char *value = getenv(options[id].variable);
	return value && *value ? value : options[id].initial;
}

static bool is_yes(const char *text)
{
	return strcasecmp(text, "on") == 0 || strcmp(text, "1") == 0 ||
	       strcasecmp(text, "yes") == 0 || strcasecmp(text, "true") == 0;
}

static bool is_no(const char *text)
{
	return strcasecmp(text, "off") == 0 || strcmp(text, "0") == 0 ||
	       strcasecmp(text, "no") == 0 || strcasecmp(text, "false") == 0;
}

/* "512M", "4 MiB", "1g" or bytes. False: not a size. */
static bool size_parse(const char *text, uint64_t *out)
{
	char *end;
	if (*text < '0' || *text > '9')
		return false;
	unsigned long long number = strtoull(text, &end, 10);
	while (*end == ' ')
		end++;
	static const char units[] = "kmgt";
	unsigned shift = 0;
	if (*end) {
		const char *unit = strchr(units, *end | 0x20);
		if (!unit)
			return false;
		shift = 10u * (unsigned)(unit - units + 1);
		end++;
		if (strcasecmp(end, "ib") != 0 && strcasecmp(end, "b") != 0 && *end)
			return false;
	}
	if (shift && number >> (64 - shift))
		return false;
	*out = (uint64_t)number << shift;
	return true;
}

static bool is_in_list(const char *list, const char *name)
{
	size_t n = strlen(name);
	while (*list) {
		size_t item = strcspn(list, ",");
		if (item == n && memcmp(list, name, n) == 0)
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

static void copy(char *out, size_t capacity, const char *text)
{
	size_t n = strlen(text);
	if (n >= capacity)
		n = capacity - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

void gp_settings_read(void)
{
	struct gp_settings *s = &gp_settings;
	const char *only = option(OPTION_ONLY);
	s->is_on = !is_no(option(OPTION_SWITCH));
	if (*only && !is_in_list(only, program_invocation_short_name))
		s->is_on = false;
	s->is_verbose = is_yes(option(OPTION_VERBOSE));
	s->has_launches = !is_no(option(OPTION_LAUNCHES));
	s->is_started = !is_no(option(OPTION_START));
	s->has_python = strcmp(option(OPTION_STACKS), "python") == 0;
	s->stacks_most = 16u * GP_STACK_CHUNK; /* 32 MiB, as they are used */
	copy(s->output, sizeof s->output, option(OPTION_OUTPUT));
	copy(s->ring_dir, sizeof s->ring_dir, option(OPTION_RING_DIR));
	const char *list = getenv("GPUPROF_LIST");
	copy(s->list, sizeof s->list, list ? list : "");
	s->ring_bytes = 512u << 20;
	size_parse(option(OPTION_RING), &s->ring_bytes);
}

static bool is_known(const char *entry, size_t name)
{
	static const char *const internal[] = { "GPUPROF_LIST", "GPUPROF_LIB" };
	for (size_t k = 0; k < sizeof internal / sizeof *internal; k++)
		if (strlen(internal[k]) == name && memcmp(entry, internal[k], name) == 0)
			return true;
	for (size_t k = 0; k < OPTIONS; k++)
		if (strlen(options[k].variable) == name &&
		    memcmp(entry, options[k].variable, name) == 0)
			return true;
	return false;
}

/* How many letters differ, position by position: enough to name the nearest known variable. */
static size_t distance(const char *a, size_t an, const char *b)
{
	size_t bn = strlen(b), prefix = 0, suffix = 0, shorter = an < bn ? an : bn;
	while (prefix < shorter && a[prefix] == b[prefix])
		prefix++;
	while (suffix < shorter - prefix && a[an - 1 - suffix] == b[bn - 1 - suffix])
		suffix++;
	return (an > bn ? an : bn) - prefix - suffix;
}

void gp_settings_warn(void)
{
	uint64_t bytes;
	if (!size_parse(option(OPTION_RING), &bytes))
		gp_say(true, "GPUPROF_RING is not a size, 512M is used:", option(OPTION_RING));
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equal = strchr(*entry, '=');
		if (!equal || strncmp(*entry, "GPUPROF_", 8) != 0)
			continue;
		size_t name = (size_t)(equal - *entry);
		if (is_known(*entry, name))
			continue;
		size_t best = OPTION_OUTPUT, best_distance = SIZE_MAX;
		for (size_t k = OPTION_OUTPUT; k < OPTIONS; k++) {
			size_t d = distance(*entry, name, options[k].variable);
			if (d < best_distance) {
				best_distance = d;
				best = k;
			}
		}
		char line[256];
		if (name > 100)
			name = 100;
		memcpy(line, *entry, name);
		static const char middle[] = "', did you mean '";
		memcpy(line + name, middle, sizeof middle - 1);
		copy(line + name + sizeof middle - 1, sizeof line - name - sizeof middle,
		     options[best].variable);
		gp_say(true, "unknown variable", line);
		return; /* the first one is enough to make the user look */
	}
}
