/*
 * The baseline file: the figures of runs for each GPU, driver and PyTorch, and by how much a run
 * may exceed them. gpuprof-check(1) documents its keys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../io/message.h"
#include "check_report.h"
#include "json_read.h"

#define FORMAT "gpuprof baseline 1"
#define FILE_MAX (16u << 20)

static const char *const keys[] = { "driver_bytes", "reserved_bytes", "allocated_bytes" };

/* ---- reading ---- */

static char *copy_of(const struct gp_json_value *object, const char *key)
{
	const struct gp_json_value *v = gp_json_value_find(object, key, GP_JSON_TEXT);
	return v ? strdup(v->text) : NULL;
}

static bool check_baseline_number_of(const struct gp_json_value *object, const char *key,
				     uint64_t *out)
{
	const struct gp_json_value *v = gp_json_value_find(object, key, GP_JSON_NUMBER);
	*out = v && v->is_whole ? v->whole : 0;
	return v && v->is_whole;
}

static const char *read_group(const struct gp_json_value *v, struct gp_baseline_group *out)
{
	if (!check_baseline_number_of(v, "bytes", &out->bytes) ||
	    !check_baseline_number_of(v, "count", &out->count))
		return "a group without bytes and count";
	out->key = copy_of(v, "key");
	return out->key ? NULL : "a group without a key";
}

static const char *read_device(const struct gp_json_value *v, struct gp_baseline_device *out)
{
	uint64_t device;
	const struct gp_json_value *groups = gp_json_value_find(v, "groups", GP_JSON_LIST);
	if (!check_baseline_number_of(v, "device", &device) || device >= GP_DEVICES)
		return "a device without its number";
	out->device = (unsigned)device;
	for (unsigned k = 0; k < GP_CURVES; k++)
		if (!check_baseline_number_of(v, keys[k], &out->bytes[k]))
			return "a device without its bytes";
	if (!groups)
		return "a device without groups";
	out->group = calloc(groups->children + 1, sizeof *out->group);
	for (size_t k = 0; out->group && k < groups->children; k++) {
		const char *why = read_group(&groups->child[k], &out->group[out->groups++]);
		if (why)
			return why;
	}
	return out->group ? NULL : "no memory";
}

static const char *read_entry(const struct gp_json_value *v, struct gp_baseline_entry *out)
{
	const struct gp_json_value *devices = gp_json_value_find(v, "devices", GP_JSON_LIST);
	if (!devices)
		return "an entry without devices";
	out->gpu = copy_of(v, "gpu");
	out->driver = copy_of(v, "driver");
	out->pytorch = copy_of(v, "pytorch");
	out->device = calloc(devices->children + 1, sizeof *out->device);
	for (size_t k = 0; out->device && k < devices->children; k++) {
		const char *why = read_device(&devices->child[k], &out->device[out->devices++]);
		if (why)
			return why;
	}
	return out->device ? NULL : "no memory";
}

static const char *read_all(const struct gp_json_value *v, struct gp_baseline *out)
{
	const struct gp_json_value *format = gp_json_value_find(v, "format", GP_JSON_TEXT);
	const struct gp_json_value *entries = gp_json_value_find(v, "entries", GP_JSON_LIST);
	const struct gp_json_value *tolerance = gp_json_value_find(v, "tolerance", GP_JSON_OBJECT);
	if (!format || strcmp(format->text, FORMAT) != 0)
		return "another format than \"" FORMAT "\"";
	if (!entries || !tolerance)
		return "no entries or no tolerance";
	for (unsigned k = 0; k < GP_CURVES; k++) {
		const struct gp_json_value *t =
			gp_json_value_find(tolerance, gp_curve_keys[k], GP_JSON_TEXT);
		if (!t || !gp_check_amount_read(t->text, true, &out->tolerance[k]))
			return "a tolerance that is neither \"1%\" nor \"16MiB\"";
	}
	out->entry = calloc(entries->children + 1, sizeof *out->entry);
	for (size_t k = 0; out->entry && k < entries->children; k++) {
		const char *why = read_entry(&entries->child[k], &out->entry[out->entries++]);
		if (why)
			return why;
	}
	return out->entry ? NULL : "no memory";
}

/* Reads the whole file. NULL: errno has the cause. */
static char *check_baseline_load(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "re");
	struct stat st;
	char *text = NULL;
	if (!in)
		return NULL;
	if (fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MAX) {
		text = malloc((size_t)st.st_size + 1);
		*bytes = text ? fread(text, 1, (size_t)st.st_size, in) : 0;
	} else {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EFBIG;
	}
	fclose(in);
	return text;
}

static void check_baseline_begin(struct gp_baseline *b)
{
	*b = (struct gp_baseline){ 0 };
	gp_check_amount_read("1%", true, &b->tolerance[GP_CURVE_ALLOCATED]);
	gp_check_amount_read("5%", true, &b->tolerance[GP_CURVE_RESERVED]);
	gp_check_amount_read("5%", true, &b->tolerance[GP_CURVE_DRIVER]);
}

bool gp_baseline_read(const char *path, bool may_be_new, struct gp_baseline *out)
{
	struct gp_json_value value;
	char why[GP_JSON_WHY_MAX];
	size_t bytes = 0;
	check_baseline_begin(out);
	errno = 0;
	char *text = check_baseline_load(path, &bytes);
	if (!text && errno == ENOENT && may_be_new)
		return true;
	if (!text) {
		gp_error("cannot open '%s': %s", path, gp_cause(errno));
		if (errno == ENOENT)
			gp_hint("--update makes it");
		return false;
	}
	bool is_json = gp_json_value_read(text, bytes, &value, why);
	const char *wrong = is_json ? read_all(&value, out) : why;
	if (wrong)
		gp_error("cannot read '%s': it is not a baseline: %s", path, wrong);
	gp_json_value_free(&value);
	free(text);
	return !wrong;
}

/* ---- writing ---- */

static void check_baseline_write_device(struct gp_json *json, const struct gp_baseline_device *d)
{
	gp_json_object(json, NULL);
	gp_json_number(json, "device", d->device);
	for (unsigned of = 0; of < GP_CURVES; of++)
		gp_json_number(json, keys[of], d->bytes[of]);
	gp_json_array(json, "groups");
	for (size_t g = 0; g < d->groups; g++) {
		gp_json_object(json, NULL);
		gp_json_number(json, "bytes", d->group[g].bytes);
		gp_json_number(json, "count", d->group[g].count);
		gp_json_text(json, "key", d->group[g].key);
		gp_json_end(json);
	}
	gp_json_end(json);
	gp_json_end(json);
}

static void write_entry(struct gp_json *json, const struct gp_baseline_entry *e)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "gpu", e->gpu);
	gp_json_text(json, "driver", e->driver);
	gp_json_text(json, "pytorch", e->pytorch);
	gp_json_array(json, "devices");
	for (size_t k = 0; k < e->devices; k++)
		check_baseline_write_device(json, &e->device[k]);
	gp_json_end(json);
	gp_json_end(json);
}

void gp_baseline_write(const struct gp_baseline *b, FILE *out)
{
	struct gp_json json;
	gp_json_init(&json, out, 6);
	json.has_schema = true; /* it has "format" */
	gp_json_object(&json, NULL);
	gp_json_text(&json, "format", FORMAT);
	gp_json_object(&json, "tolerance");
	for (unsigned k = 0; k < GP_CURVES; k++) {
		struct gp_text text = gp_check_amount_text(b->tolerance[k]);
		/* exact where it is bytes */
		if (!b->tolerance[k].is_share)
			snprintf(text.s, sizeof text.s, "%llu",
				 (unsigned long long)b->tolerance[k].number);
		gp_json_text(&json, gp_curve_keys[k], text.s);
	}
	gp_json_end(&json);
	gp_json_array(&json, "entries");
	for (size_t k = 0; k < b->entries; k++)
		write_entry(&json, &b->entry[k]);
	gp_json_end(&json);
	gp_json_end(&json);
}

static void entry_free(struct gp_baseline_entry *e)
{
	for (size_t k = 0; k < e->devices; k++) {
		for (size_t g = 0; g < e->device[k].groups; g++)
			free(e->device[k].group[g].key);
		free(e->device[k].group);
	}
	free(e->device);
	free(e->gpu);
	free(e->driver);
	free(e->pytorch);
	*e = (struct gp_baseline_entry){ 0 };
}

void gp_baseline_free(struct gp_baseline *b)
{
	for (size_t k = 0; k < b->entries; k++)
		entry_free(&b->entry[k]);
	free(b->entry);
	*b = (struct gp_baseline){ 0 };
}

/* ---- entries ---- */

static bool check_baseline_is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *gpu_of(const struct gp_info *info)
{
	return info->devices ? info->device[0].name : NULL;
}

const struct gp_baseline_entry *gp_baseline_find(const struct gp_baseline *b,
						 const struct gp_info *info)
{
	for (size_t k = 0; k < b->entries; k++)
		if (check_baseline_is_same(b->entry[k].gpu, gpu_of(info)) &&
		    check_baseline_is_same(b->entry[k].driver, info->driver) &&
		    check_baseline_is_same(b->entry[k].pytorch, info->pytorch))
			return &b->entry[k];
	return NULL;
}

const struct gp_baseline_device *gp_baseline_device(const struct gp_baseline_entry *entry,
						    unsigned device)
{
	for (size_t k = 0; k < entry->devices; k++)
		if (entry->device[k].device == device)
			return &entry->device[k];
	return NULL;
}

static enum gp_status take_groups(const struct gp_check *c, const struct gp_figures *f,
				  struct gp_baseline_device *out)
{
	struct gp_groups groups;
	uint64_t whole;
	enum gp_curve of = f->has_framework ? GP_CURVE_ALLOCATED : GP_CURVE_DRIVER;
	out->device = f->device;
	memcpy(out->bytes, f->bytes, sizeof out->bytes);
	const struct gp_holders *h = gp_check_holders(&c->peak, f->device, of);
	/* groups of another moment than the peak would mislead */
	if (!h || h->is_overwritten || !gp_check_groups(c, f->device, of, false, &groups, &whole))
		return GP_OK;
	out->group = calloc(GP_BASELINE_GROUPS, sizeof *out->group);
	for (size_t k = 0; out->group && k < groups.groups && k < GP_BASELINE_GROUPS; k++) {
		struct gp_baseline_group *g = &out->group[out->groups++];
		*g = (struct gp_baseline_group){ strdup(groups.group[k].key),
						 groups.group[k].use.bytes,
						 groups.group[k].use.count };
		out->groups -= !g->key;
	}
	gp_groups_free(&groups);
	return out->group ? GP_OK : GP_E_MEMORY;
}

enum gp_status gp_baseline_take(struct gp_baseline *b, const struct gp_check *c)
{
	struct gp_baseline_entry *e = (struct gp_baseline_entry *)gp_baseline_find(b, c->info);
	const char *gpu = gpu_of(c->info);
	if (e) {
		entry_free(e);
	} else {
		struct gp_baseline_entry *grown =
			realloc(b->entry, (b->entries + 1) * sizeof *grown);
		if (!grown)
			return GP_E_MEMORY;
		b->entry = grown;
		e = &grown[b->entries++];
	}
	*e = (struct gp_baseline_entry){ .gpu = gpu ? strdup(gpu) : NULL };
	e->driver = c->info->driver ? strdup(c->info->driver) : NULL;
	e->pytorch = c->info->pytorch ? strdup(c->info->pytorch) : NULL;
	e->device = calloc(c->figures.devices + 1, sizeof *e->device);
	enum gp_status status = e->device ? GP_OK : GP_E_MEMORY;
	for (size_t k = 0; k < c->figures.devices && status == GP_OK; k++)
		status = take_groups(c, &c->figures.device[k], &e->device[e->devices++]);
	return status;
}
