/*
 * Values of memory and GPU time by stack, for the formats that show stacks. Each piece of memory is
 * in one row: blocks of the framework, the unused rest of its segments, other memory of the driver,
 * and pinned memory of the host. So the bytes in use on a device add up to its driver curve. Needs
 * memory for each different stack.
 */
#ifndef GP_STACK_VALUES_H
#define GP_STACK_VALUES_H

#include "../write/export.h"

enum gp_stack_value {
	GP_VALUE_ALLOC_OBJECTS, /* allocated in the span */
	GP_VALUE_ALLOC_SPACE,
	GP_VALUE_INUSE_OBJECTS, /* live at its end */
	GP_VALUE_INUSE_SPACE,
	GP_VALUE_GPU_TIME, /* of kernels, copies and sets that began in the span */
	GP_VALUE_GPU_KERNELS,
	GP_STACK_VALUES
};
struct gp_value_type {
	const char *name, *unit; /* "inuse_space", "bytes" */
};
extern const struct gp_value_type gp_value_types[GP_STACK_VALUES];
/* The value with that name. */
enum gp_stack_value gp_value_find(const char *name);

/* Labels of a row, which split a stack. NULL: unknown, or it does not apply. */
enum gp_value_label {
	GP_LABEL_DEVICE, /* "0"; "host" */
	GP_LABEL_MEMORY, /* "allocated", "unused", "driver", "pinned"; NULL: GPU time */
	GP_LABEL_OWNER,
	GP_LABEL_PHASE,
	GP_LABEL_ROLE,
	GP_LABEL_OP,
	GP_VALUE_LABELS
};
extern const char *const gp_value_labels[GP_VALUE_LABELS];

/* Equal frames are one frame. Texts are as recorded, so they may have any bytes. */
struct gp_value_frame {
	const char *name;   /* never NULL */
	const char *symbol; /* of a kernel: as in the binary; else the name */
	const char *file, *module;
	uint64_t address, module_offset; /* of native ones; 0 without `has_addresses` */
	uint32_t line;			 /* 0: unknown */
	bool is_inlined;		 /* into the following frame */
	bool is_python;
};
/* Equal stacks are one stack. */
struct gp_value_stack {
	size_t first; /* index into gp_stack_values.index: frames, innermost first */
	uint32_t frames;
};
struct gp_value_row {
	uint32_t stack;
	uint32_t leaf;	 /* a frame inside the innermost one: the kernel; UINT32_MAX: none */
	unsigned device; /* GP_DEVICE_UNKNOWN: the host */
	const char *label[GP_VALUE_LABELS];
	uint64_t value[GP_STACK_VALUES];
};

struct gp_stack_values {
	size_t frames, stacks, rows;
	struct gp_value_frame *frame;
	uint32_t *index;
	struct gp_value_stack *stack;
	struct gp_value_row *row;
	uint64_t total[GP_STACK_VALUES];
	bool has_gpu_time;
	const char *no_gpu_time;      /* why it is missing; NULL: it was not requested */
	uint64_t gpu_lost;	      /* operations of the GPU whose times were lost */
	int64_t from_ns, at_ns;	      /* the span within the recording */
	struct gp_value_table *table; /* owns the texts of rows and frames */
};

/* The values and details that a format needs. */
struct gp_stack_values_wish {
	unsigned values;    /* bits: 1 << enum gp_stack_value; others stay 0 */
	bool has_labels;    /* else rows have only the device; it takes fewer replays */
	bool has_addresses; /* native frames of a function at two addresses are two frames */
};
#define GP_STACK_VALUES_ALL ((1u << GP_STACK_VALUES) - 1)

/*
 * Fills in the rows of the export's span. Prints what is left out. Free with gp_stack_values_free,
 * also after a failure. GP_E_MEMORY, and what a replay returns.
 */
enum gp_status gp_stack_values_build(struct gp_export *e, const struct gp_stack_values_wish *wish,
				     struct gp_stack_values *out);
void gp_stack_values_free(struct gp_stack_values *values);

/* Rows with one stack and device, without their labels. */
struct gp_value_sum {
	uint32_t stack, leaf; /* as of a row */
	unsigned device;
	uint64_t value;
};
/*
 * Sums of one value that are not 0: by device, the host last, then most first. The caller frees
 * them. NULL: out of memory.
 */
struct gp_value_sum *gp_stack_values_sum(const struct gp_stack_values *values,
					 enum gp_stack_value of, size_t *sums);
/* "GPU 0", "Host" */
void gp_value_device_text(unsigned device, char out[16]);

#endif
