/*
 * The range profiler of the fake CUPTI: automatic ranges and user replay, one range a pass. It
 * checks the size of each struct, which is that of CUDA 13.0, and ends the process on calls in an
 * order that the real one does not allow. Values depend on the kernel's name and grid (value_of);
 * all are -1 if the passes saw different kernels.
 * Environment:
 *
 *   FAKE_PROFILER_REFUSED  error that the driver returns for counters, as 35
 *   FAKE_PROFILER_FAILS    name of a function that returns error 999
 *   FAKE_PROFILER_PASSES   passes of all metrics together (3)
 *   FAKE_PROFILER_SLOW     cuptiProfilerInitialize takes 300 ms
 *   FAKE_PROFILER_SUPPORT  CUpti_Profiler_Support_Level of the GPU (3)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake_operation.h"
#include "fake_profiler.h"

#define PASSES 16u
#define METRICS 64u

struct host {
	int type;
	size_t metrics, passes; /* the latter of samples */
};
struct pass {
	unsigned ranges;
	char name[64];
	uint32_t grid;
};
/* The counter data image. */
struct data {
	uint64_t magic;
	struct pass pass[PASSES];
	size_t passes, ranges;
};
#define MAGIC 0x6b61666567616d69u

static struct {
	void *context; /* NULL: not enabled */
	struct data *data;
	size_t pass, passes;
	bool is_configured, is_started, is_complete;
	unsigned ranges;
	struct pass seen;
} object;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_initialized, is_initializing;

__attribute__((destructor)) static void end(void)
{
	if (object.context)
		fake_fail("enabled at the end of the process");
	if (is_initializing)
		fake_fail("the process ended while it initialized");
}

void fake_profiler_finalize(void);

void fake_profiler_finalize(void)
{
	if (object.context)
		fake_fail("enabled while CUPTI is finalized");
	fake_pm_finalize();
}

static void observe(const struct fake_operation *operation)
{
	pthread_mutex_lock(&lock);
	if (object.is_started && operation->kind == GP_CUPTI_CONCURRENT_KERNEL &&
	    object.ranges++ == 0) {
		snprintf(object.seen.name, sizeof object.seen.name, "%s", operation->name);
		object.seen.grid = operation->grid[0];
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the host's side ---- */

uint32_t cuptiProfilerInitialize(struct gp_profiler_init *p);
uint32_t cuptiProfilerDeviceSupported(struct gp_profiler_support *p);
uint32_t cuptiDeviceGetChipName(struct gp_profiler_chip *p);
uint32_t cuptiProfilerGetCounterAvailability(struct gp_profiler_available *p);
uint32_t cuptiProfilerHostInitialize(struct gp_host_init *p);
uint32_t cuptiProfilerHostDeinitialize(struct gp_host_end *p);
uint32_t cuptiProfilerHostConfigAddMetrics(struct gp_host_metrics *p);
uint32_t cuptiProfilerHostGetConfigImageSize(struct gp_host_config_size *p);
uint32_t cuptiProfilerHostGetConfigImage(struct gp_host_config *p);
uint32_t cuptiProfilerHostGetNumOfPasses(struct gp_host_passes *p);
uint32_t cuptiProfilerHostEvaluateToGpuValues(struct gp_host_values *p);
uint32_t cuptiRangeProfilerEnable(struct gp_range_enable *p);
uint32_t cuptiRangeProfilerDisable(struct gp_range_object *p);
uint32_t cuptiRangeProfilerGetCounterDataSize(struct gp_range_data_size *p);
uint32_t cuptiRangeProfilerCounterDataImageInitialize(struct gp_range_data *p);
uint32_t cuptiRangeProfilerSetConfig(struct gp_range_config *p);
uint32_t cuptiRangeProfilerStart(struct gp_range_object *p);
uint32_t cuptiRangeProfilerStop(struct gp_range_stop *p);
uint32_t cuptiRangeProfilerDecodeData(struct gp_range_decode *p);
uint32_t cuptiRangeProfilerGetCounterDataInfo(struct gp_range_info *p);

uint32_t cuptiProfilerInitialize(struct gp_profiler_init *p)
{
	CALLED(16);
	is_initializing = true;
	if (getenv("FAKE_PROFILER_SLOW"))
		usleep(300000);
	is_initializing = false;
	is_initialized = true;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerDeviceSupported(struct gp_profiler_support *p)
{
	CALLED(52);
	p->supported = (int)fake_setting("FAKE_PROFILER_SUPPORT", GP_CUPTI_SUPPORTED);
	p->architecture = p->sli = p->vgpu = p->mining = p->wsl = GP_CUPTI_SUPPORTED;
	p->confidential = p->supported;
	return is_initialized ? GP_CUPTI_SUCCESS : GP_CUPTI_NOT_INITIALIZED;
}

uint32_t cuptiDeviceGetChipName(struct gp_profiler_chip *p)
{
	CALLED(32);
	p->name = "FK100";
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerGetCounterAvailability(struct gp_profiler_available *p)
{
	CALLED(40);
	const unsigned long refused = fake_setting("FAKE_PROFILER_REFUSED", 0);
	if (refused)
		return (uint32_t)refused;
	if (!p->context)
		return GP_CUPTI_INVALID_PARAMETER;
	if (p->image)
		memset(p->image, 1, p->bytes);
	p->bytes = 8;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerHostInitialize(struct gp_host_init *p)
{
	CALLED(48);
	if (p->type > GP_CUPTI_PM_SAMPLING || strcmp(p->chip, "FK100") != 0 || !p->available ||
	    p->available[7] != 1)
		return GP_CUPTI_INVALID_PARAMETER;
	struct host *host = p->host = calloc(1, sizeof(struct host));
	host->type = p->type;
	host->passes = 1;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerHostDeinitialize(struct gp_host_end *p)
{
	CALLED(24);
	free(p->host);
	return GP_CUPTI_SUCCESS;
}

/* This GPU has no tensor cores for fp64, and no NVLink: CUPTI 13.0 has two errors for that. */
static uint32_t metric_error(const char *name)
{
	if (strstr(name, "nvl"))
		return FAKE_UNKNOWN_ERROR;
	return strstr(name, "__") && strchr(name, '.') && !strstr(name, "fp64") ?
		       GP_CUPTI_SUCCESS :
		       GP_CUPTI_INVALID_PARAMETER;
}

uint32_t cuptiProfilerHostConfigAddMetrics(struct gp_host_metrics *p)
{
	CALLED(40);
	struct host *host = p->host;
	for (size_t k = 0; k < p->count; k++)
		if (metric_error(p->names[k]))
			return metric_error(p->names[k]);
	host->metrics += p->count;
	for (size_t k = 0; k < p->count; k++) /* samples of L2 need a pass of their own */
		host->passes += strncmp(p->names[k], "lts__", 5) == 0;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerHostGetConfigImageSize(struct gp_host_config_size *p)
{
	CALLED(32);
	p->bytes = sizeof(size_t);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerHostGetConfigImage(struct gp_host_config *p)
{
	CALLED(40);
	if (p->bytes != sizeof(size_t))
		return GP_CUPTI_INVALID_PARAMETER;
	const struct host *host = p->host;
	const size_t passes = host->type == GP_CUPTI_PM_SAMPLING ?
				      host->passes :
				      fake_setting("FAKE_PROFILER_PASSES", 3);
	memcpy(p->image, &passes, sizeof passes);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiProfilerHostGetNumOfPasses(struct gp_host_passes *p)
{
	CALLED(40);
	memcpy(&p->passes, p->image, sizeof p->passes);
	return GP_CUPTI_SUCCESS;
}

/* A copy of memory, a multiplication, or else. */
static double value_of(const char *metric, const struct pass *pass)
{
	const bool is_copy = strstr(pass->name, "copy"), is_gemm = strstr(pass->name, "gemm");
	if (strcmp(metric, "gpu__time_duration.sum") == 0)
		return 1000.0 * pass->grid;
	if (strcmp(metric, "dram__bytes.sum") == 0)
		return (is_gemm ? 100.0 : 1000.0) * pass->grid;
	if (strncmp(metric, "sm__throughput", 14) == 0)
		return is_gemm ? 85.5 : is_copy ? 20.25 : 30;
	if (strncmp(metric, "dram__throughput", 16) == 0)
		return is_gemm ? 35 : is_copy ? 91.5 : 25;
	if (strncmp(metric, "lts__throughput", 15) == 0)
		return 40;
	if (strstr(metric, "_ffma_"))
		return is_gemm ? 50000.0 * pass->grid : 0;
	return strstr(metric, "_fadd_") ? 250.0 * pass->grid : strstr(metric, "pct") ? 50 : 0;
}

uint32_t cuptiProfilerHostEvaluateToGpuValues(struct gp_host_values *p)
{
	CALLED(72);
	const struct data *data = (const struct data *)p->data;
	const struct host *host = p->host;
	if (fake_pm_has_image(p) && p->count == host->metrics)
		return fake_pm_values(p);
	if (data->magic != MAGIC || p->range != 0 || data->ranges != 1 || p->count != host->metrics)
		return GP_CUPTI_INVALID_PARAMETER;
	bool is_mixed = false;
	for (size_t k = 1; k < data->passes; k++)
		is_mixed |= memcmp(&data->pass[k], &data->pass[0], sizeof data->pass[0]) != 0;
	for (size_t k = 0; k < p->count; k++)
		p->values[k] = is_mixed ? -1 : value_of(p->names[k], &data->pass[0]);
	return GP_CUPTI_SUCCESS;
}

/* ---- the GPU's side ---- */

uint32_t cuptiRangeProfilerEnable(struct gp_range_enable *p)
{
	CALLED(32);
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	fake_observer *_Atomic *observer = driver ? dlsym(driver, "fake_cuda_observer") : NULL;
	if (object.context)
		fake_fail("enabled twice");
	object.context = p->context;
	p->object = &object;
	if (observer)
		atomic_store(observer, observe);
	return p->context ? GP_CUPTI_SUCCESS : GP_CUPTI_INVALID_PARAMETER;
}

uint32_t cuptiRangeProfilerDisable(struct gp_range_object *p)
{
	CALLED(24);
	if (!object.context || p->object != &object ||
	    (object.is_started && !fake_is_failing("cuptiRangeProfilerStop")))
		fake_fail("disabled in a wrong state");
	object.context = NULL;
	object.is_started = false;
	object.is_configured = false;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerGetCounterDataSize(struct gp_range_data_size *p)
{
	CALLED(64);
	p->bytes = sizeof(struct data);
	return p->object == &object && p->count && p->ranges == 1 && p->nodes == 1 ?
		       GP_CUPTI_SUCCESS :
		       GP_CUPTI_INVALID_PARAMETER;
}

uint32_t cuptiRangeProfilerCounterDataImageInitialize(struct gp_range_data *p)
{
	CALLED(40);
	if (p->bytes != sizeof(struct data))
		return GP_CUPTI_INVALID_PARAMETER;
	struct data *data = (struct data *)p->data;
	*data = (struct data){ .magic = MAGIC };
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerSetConfig(struct gp_range_config *p)
{
	CALLED(90);
	struct data *data = (struct data *)p->data;
	if (object.is_started)
		fake_fail("configured while it is started");
	if (p->range != GP_CUPTI_AUTO_RANGE || p->replay != GP_CUPTI_USER_REPLAY ||
	    p->ranges != 1 || p->levels != 1 || p->level_least != 1 || p->pass != 0 ||
	    data->magic != MAGIC || data->passes != 0)
		return GP_CUPTI_INVALID_PARAMETER;
	memcpy(&object.passes, p->config, sizeof object.passes);
	object.data = data;
	object.pass = 0;
	object.is_configured = true;
	object.is_complete = false;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerStart(struct gp_range_object *p)
{
	CALLED(24);
	pthread_mutex_lock(&lock);
	if (!object.context || !object.is_configured || object.is_started || object.is_complete)
		fake_fail("started in a wrong state");
	object.is_started = true;
	object.ranges = 0;
	memset(&object.seen, 0, sizeof object.seen);
	pthread_mutex_unlock(&lock);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerStop(struct gp_range_stop *p)
{
	CALLED(41);
	pthread_mutex_lock(&lock);
	if (!object.is_started)
		fake_fail("stopped before it was started");
	object.is_started = false;
	object.seen.ranges = object.ranges;
	object.data->pass[object.pass++ % PASSES] = object.seen;
	object.is_complete = object.pass == object.passes;
	p->pass = object.pass;
	p->is_complete = object.is_complete;
	pthread_mutex_unlock(&lock);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerDecodeData(struct gp_range_decode *p)
{
	CALLED(32);
	if (!object.is_complete || object.is_started)
		return GP_CUPTI_INVALID_OPERATION;
	p->dropped = 0;
	object.data->passes = object.pass;
	object.data->ranges = 1;
	for (size_t k = 0; k < object.pass; k++) {
		if (object.data->pass[k].ranges == 0)
			object.data->ranges = 0;
		else
			p->dropped += object.data->pass[k].ranges - 1;
	}
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiRangeProfilerGetCounterDataInfo(struct gp_range_info *p)
{
	CALLED(40);
	const struct data *data = (const struct data *)p->data;
	p->ranges = data->ranges;
	return data->magic == MAGIC ? GP_CUPTI_SUCCESS : GP_CUPTI_INVALID_PARAMETER;
}
