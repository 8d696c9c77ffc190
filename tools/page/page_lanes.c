/* GPU time on a page: lanes of intervals, and the tables to which their blocks refer. */
#include <stdlib.h>

#include "page.h"

enum gp_status gp_page_lanes_build(struct gp_page *page, struct gp_recording *recording,
				   struct gp_lanes *lanes, const char **why)
{
	const struct gp_lives_sink sink = { .write = gp_page_data_add, .context = page };
	const size_t before = page->blocks;
	const enum gp_status status = gp_lanes_build(recording, &sink, lanes);
	if (status)
		gp_page_data_cut(page, before);
	*why = status		     ? gp_status_text(status) :
	       lanes->has_operations ? NULL :
	       lanes->why	     ? lanes->why :
				       "GPU time was not recorded";
	return status;
}

static void column_write(struct gp_json *json, const char *key, const struct gp_lanes *lanes,
			 uint64_t (*number)(const struct gp_lane_group *))
{
	gp_json_array(json, key);
	for (size_t k = 0; k < lanes->groups; k++)
		gp_json_number(json, NULL, number(&lanes->group[k]));
	gp_json_end(json);
}

#define COLUMNS(X) \
	X(name) X(operator) X(line) X(phase) X(count) X(total_ns) X(short_count) X(short_ns)
#define COLUMN_GET(column)                                              \
	static uint64_t get_##column(const struct gp_lane_group *group) \
	{                                                               \
		return group->column;                                   \
	}
COLUMNS(COLUMN_GET)

static void groups_write(struct gp_json *json, const struct gp_lanes *lanes)
{
#define COLUMN_WRITE(column) column_write(json, #column, lanes, get_##column);
	gp_json_object(json, "groups");
	gp_json_array(json, "of");
	for (size_t k = 0; k < lanes->groups; k++)
		gp_json_text(json, NULL, gp_interval_names[lanes->group[k].of]);
	gp_json_end(json);
	COLUMNS(COLUMN_WRITE)
	gp_json_end(json);
}

static void lane_write(struct gp_json *json, const struct gp_lane *lane)
{
	gp_json_object(json, NULL);
	gp_json_text(json, "of", gp_lane_names[lane->of]);
	gp_json_bool(json, "is_rest", lane->is_rest);
	gp_json_signed(json, "device",
		       lane->device == GP_DEVICE_UNKNOWN ? -1 : (int64_t)lane->device);
	gp_json_number(json, "context", lane->context);
	gp_json_number(json, "id", lane->id);
	gp_json_number(json, "count", lane->count);
	gp_json_array(json, "blocks");
	for (size_t k = 0; k < lane->blocks; k++)
		gp_json_number(json, NULL, lane->block[k]);
	gp_json_end(json);
	if (lane->parts == SIZE_MAX)
		gp_json_null(json, "parts");
	else
		gp_json_number(json, "parts", lane->parts);
	gp_json_end(json);
}

void gp_page_lanes_write(struct gp_json *json, const struct gp_lanes *lanes)
{
	if (lanes->lanes == 0) {
		gp_json_null(json, "gpu");
		return;
	}
	gp_json_object(json, "gpu");
	gp_json_signed(json, "from_ns", lanes->from_ns);
	gp_json_number(json, "part_ns", lanes->part_ns);
	gp_json_number(json, "shorter_than_ns", lanes->shorter_than_ns);
	gp_json_signed(json, "clock_within_ns", lanes->clock_within_ns);
	gp_json_number(json, "lost", lanes->lost);
	gp_json_array(json, "text");
	for (size_t k = 0; k < lanes->texts; k++)
		gp_json_text(json, NULL, lanes->text[k]);
	gp_json_end(json);
	groups_write(json, lanes);
	gp_json_array(json, "lanes");
	for (size_t k = 0; k < lanes->lanes; k++)
		lane_write(json, &lanes->lane[k]);
	gp_json_end(json);
	gp_json_end(json);
}
