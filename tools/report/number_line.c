/* The number line (number_line.h). */
#include "number_line.h"

#include <inttypes.h>
#include <string.h>

#include "../io/amount.h"
#include "../io/message.h"

void gp_number_line_print(FILE *out, const struct gp_frag *f, const struct gp_owners *o)
{
	uint64_t used = f->driver_used_bytes;
	if (used == GP_BYTES_UNKNOWN)
		fprintf(out, "  driver memory of this job, without contexts: %s =",
			gp_bytes_text(o->known_bytes).s);
	else
		fprintf(out, "  %s = %s free", gp_bytes_text(f->device->total_bytes).s,
			gp_bytes_text(f->driver_free_bytes).s);
	for (size_t k = 0; k < o->owners; k++) {
		fputs(used == GP_BYTES_UNKNOWN && k == 0 ? " " : " + ", out);
		fprintf(out, "%s ", gp_bytes_text(o->owner[k].bytes).s);
		gp_mask(out, o->owner[k].name, strlen(o->owner[k].name));
	}
	if (used != GP_BYTES_UNKNOWN && used >= o->known_bytes)
		fprintf(out, " + %s unattributed", gp_bytes_text(used - o->known_bytes).s);
	else if (used != GP_BYTES_UNKNOWN)
		fprintf(out, " - %s missing in the driver's count",
			gp_bytes_text(o->known_bytes - used).s);
	fputc('\n', out);
	if (f->device->imported_bytes)
		fprintf(out, "  IPC imports: %s of other processes, in unattributed\n",
			gp_bytes_text(f->device->imported_bytes).s);
}

void gp_owners_write(struct gp_json *json, const struct gp_frag *f, const struct gp_owners *owners)
{
	uint64_t used = f->driver_used_bytes;
	gp_json_object(json, "owners");
	for (size_t k = 0; k < owners->owners; k++)
		gp_json_number(json, owners->owner[k].name, owners->owner[k].bytes);
	gp_json_signed_if(json, "unattributed", used != GP_BYTES_UNKNOWN,
			  (int64_t)(used - owners->known_bytes));
	gp_json_end(json);
}

enum gp_status gp_number_line_build(struct gp_recording *recording, unsigned device,
				    struct gp_number_line *out)
{
	const struct gp_moment_of peak = { .when = GP_WHEN_PEAK,
					   .device = device,
					   .of = GP_CURVE_DRIVER };
	const struct gp_frag_question none = { 0 };
	const struct gp_info *info;
	*out = (struct gp_number_line){ 0 };
	enum gp_status status = gp_recording_info(recording, &info);
	/* the line needs the driver's count of the device */
	if (status != GP_OK || !(info->counts[GP_DEVICE_MEMORY] + info->counts[GP_ALLOC_FAILED]))
		return status;
	status = gp_memory_build(recording, &peak, &out->memory);
	if (status != GP_OK)
		return status == GP_END ? GP_OK : status;
	status = gp_frag_build(&out->memory, device, &none, &out->frag);
	out->is_known = status == GP_OK && out->frag.driver_used_bytes != GP_BYTES_UNKNOWN;
	if (out->is_known)
		status = gp_owners_build(recording, &out->frag, &out->owners);
	if (status == GP_OK || status == GP_E_ARGUMENT)
		return GP_OK;
	gp_number_line_free(out);
	return status;
}

void gp_number_line_free(struct gp_number_line *line)
{
	gp_owners_free(&line->owners);
	gp_frag_free(&line->frag);
	gp_memory_free(&line->memory);
	*line = (struct gp_number_line){ 0 };
}

void gp_number_line_print_known(FILE *out, const char *head, const struct gp_number_line *line)
{
	if (!line->is_known)
		return;
	fputs(head, out);
	gp_number_line_print(out, &line->frag, &line->owners);
}

void gp_number_line_write(struct gp_json *json, const struct gp_number_line *line)
{
	if (!line->is_known) {
		gp_json_null(json, "number_line");
		return;
	}
	gp_json_object(json, "number_line");
	gp_json_number(json, "device", line->frag.device->device);
	gp_json_signed(json, "at_ns", line->memory.at_ns);
	gp_json_number(json, "total_bytes", line->frag.device->total_bytes);
	gp_json_number(json, "free_bytes", line->frag.driver_free_bytes);
	gp_json_object(json, "owners");
	for (size_t k = 0; k < line->owners.owners; k++)
		gp_json_number(json, line->owners.owner[k].name, line->owners.owner[k].bytes);
	gp_json_end(json);
	gp_json_signed(json, "unattributed_bytes",
		       (int64_t)(line->frag.driver_used_bytes - line->owners.known_bytes));
	gp_json_end(json);
}
