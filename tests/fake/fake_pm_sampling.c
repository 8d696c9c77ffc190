/*
 * PM sampling of the fake CUPTI. The GPU's clock has its own zero and runs 30 ppm fast. Samples
 * come at the interval while it is started; the first has no beginning. A full hardware buffer
 * keeps its oldest samples and takes no more until the next start. Calls in an order that the real
 * one does not allow end the process. sm__cycles_active is the share of time between launches of
 * kernels named "busy" and "rest"; fake__end.sum is when the sample ended, in seconds of
 * CLOCK_REALTIME, modulo 100.
 * Environment:
 *
 *   FAKE_PM_ROOM      samples of the hardware buffer (its bytes / 64 KiB)
 *   FAKE_PM_ENABLED   another process samples
 *   FAKE_PM_NO_TIME   intervals count cycles, as on GA100; the clock has 1.25 GHz
 *   FAKE_PM_OLD       the library of CUDA 12.6, whose configuration has no append mode
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "fake_operation.h"
#include "fake_profiler.h"

#define MAGIC 0x6b61666d70u
#define DEVICES 8u
#define SWITCHES 4096u
#define FIRST_NS 7000000000000u
#define SAMPLE_BYTES 65536u

struct sample {
	uint64_t began, ended; /* CLOCK_MONOTONIC */
};
/* The counter data image, with `room` samples. */
struct image {
	uint64_t magic;
	size_t room, used;
	struct sample sample[];
};
static struct sampler {
	bool is_enabled, is_configured, is_started, is_full, is_first;
	uint64_t interval, next; /* beginning of the next sample */
	uint64_t until;		 /* the last stop; 0: started */
	size_t room;
} samplers[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t at;
	bool is_busy;
} switches[SWITCHES];
static unsigned switched;
static pid_t owner;
static fake_observer *_Atomic before;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t gpu_time(uint64_t ns)
{
	return FIRST_NS + ns + ns / 100000 * 3;
}

static void observe(const struct fake_operation *operation)
{
	fake_observer *next = atomic_load(&before);
	const bool is_busy = operation->name && strcmp(operation->name, "busy") == 0;
	if (next)
		next(operation);
	if (!is_busy && (!operation->name || strcmp(operation->name, "rest") != 0))
		return;
	pthread_mutex_lock(&lock);
	switches[switched % SWITCHES].at = clock_ns(CLOCK_MONOTONIC);
	switches[switched++ % SWITCHES].is_busy = is_busy;
	pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void end(void)
{
	for (unsigned k = 0; k < DEVICES; k++)
		if (samplers[k].is_enabled && owner == getpid())
			fake_fail("PM sampling is enabled at the end of CUPTI or the process");
}

void fake_pm_finalize(void)
{
	end();
}

static struct sampler *sampler_of(void *object)
{
	struct sampler *s = object;
	if (s < samplers || s >= samplers + DEVICES || !s->is_enabled)
		fake_fail("not an enabled object of PM sampling");
	return s;
}

uint32_t cuptiPmSamplingGetCounterAvailability(struct gp_pm_available *p);
uint32_t cuptiPmSamplingEnable(struct gp_pm_enable *p);
uint32_t cuptiPmSamplingDisable(struct gp_pm_object *p);
uint32_t cuptiPmSamplingSetConfig(struct gp_pm_config *p);
uint32_t cuptiPmSamplingGetCounterDataSize(struct gp_pm_data_size *p);
uint32_t cuptiPmSamplingCounterDataImageInitialize(struct gp_pm_data *p);
uint32_t cuptiPmSamplingStart(struct gp_pm_object *p);
uint32_t cuptiPmSamplingStop(struct gp_pm_object *p);
uint32_t cuptiPmSamplingDecodeData(struct gp_pm_decode *p);
uint32_t cuptiPmSamplingGetCounterDataInfo(struct gp_pm_info *p);
uint32_t cuptiPmSamplingCounterDataGetSampleInfo(struct gp_pm_sample *p);

uint32_t cuptiPmSamplingGetCounterAvailability(struct gp_pm_available *p)
{
	CALLED(40);
	const unsigned long refused = fake_setting("FAKE_PROFILER_REFUSED", 0);
	if (refused)
		return (uint32_t)refused;
	if (p->image)
		memset(p->image, 1, p->bytes);
	p->bytes = 8;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingEnable(struct gp_pm_enable *p)
{
	CALLED(32);
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	fake_observer *_Atomic *observer = driver ? dlsym(driver, "fake_cuda_observer") : NULL;
	if (p->device >= DEVICES)
		return GP_CUPTI_INVALID_PARAMETER;
	if (getenv("FAKE_PM_ENABLED") || samplers[p->device].is_enabled)
		return GP_CUPTI_INVALID_OPERATION;
	samplers[p->device] = (struct sampler){ .is_enabled = true };
	p->object = &samplers[p->device];
	owner = getpid();
	if (observer && atomic_load(observer) != observe)
		atomic_store(&before, atomic_exchange(observer, observe));
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingDisable(struct gp_pm_object *p)
{
	CALLED(24);
	struct sampler *s = sampler_of(p->object);
	if (s->is_started && !fake_is_failing("cuptiPmSamplingStop"))
		fake_fail("PM sampling is disabled while it is started");
	s->is_enabled = false;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingSetConfig(struct gp_pm_config *p)
{
	if (p->size != (getenv("FAKE_PM_OLD") ? 60 : 64))
		return GP_CUPTI_INVALID_PARAMETER;
	if (fake_is_failing(__func__))
		return FAKE_UNKNOWN_ERROR;
	struct sampler *s = sampler_of(p->object);
	size_t passes;
	memcpy(&passes, p->config, sizeof passes);
	if (passes != 1)
		return GP_CUPTI_NOT_SUPPORTED;
	const bool has_time = !getenv("FAKE_PM_NO_TIME");
	if (p->trigger == GP_CUPTI_EVERY_NS && !has_time)
		return GP_CUPTI_INVALID_PARAMETER;
	s->interval = p->trigger == GP_CUPTI_EVERY_NS ? p->interval : p->interval * 4 / 5;
	s->room = fake_setting("FAKE_PM_ROOM", p->hardware_bytes / SAMPLE_BYTES);
	s->is_configured = true;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingGetCounterDataSize(struct gp_pm_data_size *p)
{
	CALLED(56);
	if (!sampler_of(p->object)->is_configured || !p->count)
		return GP_CUPTI_INVALID_PARAMETER;
	p->bytes = sizeof(struct image) + p->samples * sizeof(struct sample);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingCounterDataImageInitialize(struct gp_pm_data *p)
{
	CALLED(40);
	struct image *image = (struct image *)p->data;
	sampler_of(p->object);
	*image = (struct image){ .magic = MAGIC };
	image->room = (p->bytes - sizeof *image) / sizeof image->sample[0];
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingStart(struct gp_pm_object *p)
{
	CALLED(24);
	struct sampler *s = sampler_of(p->object);
	if (s->is_started || !s->is_configured)
		return GP_CUPTI_INVALID_OPERATION;
	s->is_started = s->is_first = true;
	s->is_full = false;
	s->until = 0;
	s->next = clock_ns(CLOCK_MONOTONIC);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingStop(struct gp_pm_object *p)
{
	CALLED(24);
	struct sampler *s = sampler_of(p->object);
	if (!s->is_started)
		return GP_CUPTI_INVALID_OPERATION;
	s->is_started = false;
	s->until = clock_ns(CLOCK_MONOTONIC);
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingDecodeData(struct gp_pm_decode *p)
{
	CALLED(45);
	struct sampler *s = sampler_of(p->object);
	struct image *image = (struct image *)p->data;
	if (image->magic != MAGIC || !s->next)
		return GP_CUPTI_INVALID_PARAMETER;
	uint64_t until = s->until ? s->until : clock_ns(CLOCK_MONOTONIC);
	if (!s->is_full && (until - s->next) / s->interval > s->room) {
		s->is_full = true;
		s->until = until = s->next + s->room * s->interval;
	}
	while (image->used < image->room && s->next + s->interval <= until) {
		image->sample[image->used++] =
			(struct sample){ s->is_first ? 0 : s->next, s->next + s->interval };
		s->is_first = false;
		s->next += s->interval;
	}
	p->overflow = s->is_full;
	p->reason = s->next + s->interval <= until ? GP_CUPTI_DATA_FULL : GP_CUPTI_END_OF_RECORDS;
	return GP_CUPTI_SUCCESS;
}

uint32_t cuptiPmSamplingGetCounterDataInfo(struct gp_pm_info *p)
{
	CALLED(56);
	const struct image *image = (const struct image *)p->data;
	p->room = image->room;
	p->begun = p->completed = image->used;
	return image->magic == MAGIC ? GP_CUPTI_SUCCESS : GP_CUPTI_INVALID_PARAMETER;
}

uint32_t cuptiPmSamplingCounterDataGetSampleInfo(struct gp_pm_sample *p)
{
	CALLED(64);
	const struct image *image = (const struct image *)p->data;
	sampler_of(p->object);
	if (p->index >= image->used)
		return GP_CUPTI_INVALID_PARAMETER;
	const struct sample *s = &image->sample[p->index];
	p->began = s->began ? gpu_time(s->began) : 0;
	p->ended = gpu_time(s->ended);
	return GP_CUPTI_SUCCESS;
}

/* ---- values ---- */

/* Percent of the sample in which the GPU was busy. */
static double busy_share(const struct sample *s)
{
	uint64_t busy = 0, since = s->began;
	bool is_busy = false;
	pthread_mutex_lock(&lock);
	for (unsigned k = switched > SWITCHES ? switched - SWITCHES : 0; k < switched; k++) {
		const uint64_t at = switches[k % SWITCHES].at;
		if (at >= s->ended)
			break;
		if (at > s->began) {
			busy += is_busy ? at - since : 0;
			since = at;
		}
		is_busy = switches[k % SWITCHES].is_busy;
	}
	pthread_mutex_unlock(&lock);
	busy += is_busy ? s->ended - since : 0;
	return 100.0 * (double)busy / (double)(s->ended - s->began);
}

static double value_of(const char *name, const struct sample *s)
{
	const uint64_t unix_ns = s->ended + clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	if (strcmp(name, "fake__end.sum") == 0)
		return (double)(unix_ns % 100000000000u) / 1e9;
	if (strstr(name, "cycles_active."))
		return busy_share(s);
	return strstr(name, "per_second") ? 2.5e9 : strstr(name, "dram__read") ? 25 : 10;
}

bool fake_pm_has_image(const struct gp_host_values *p)
{
	return ((const struct image *)p->data)->magic == MAGIC;
}

uint32_t fake_pm_values(struct gp_host_values *p)
{
	const struct image *image = (const struct image *)p->data;
	if (p->range >= image->used)
		return GP_CUPTI_INVALID_PARAMETER;
	for (size_t k = 0; k < p->count; k++)
		p->values[k] = value_of(p->names[k], &image->sample[p->range]);
	return GP_CUPTI_SUCCESS;
}
