# The object for --gpu-time beside a job that uses CUPTI itself, with a fake CUPTI over the fake driver.
FAKE_CUPTI := $(addprefix $(BUILD)/fake/,libcupti.so.13 libcupti.so.12 cupti_part/libcupti.so.13 \
	libnvperf_host.so libnvperf_target.so)
FAKE_CUPTI_NEEDS := tests/fake/fake_cupti.c tests/fake/fake_profiler.c tests/fake/fake_pm_sampling.c tests/fake/fake_operation.h \
	interpose/cupti/cupti_abi.h interpose/counters/range_profiler_abi.h tests/cupti.mk
CUPTI_TESTS := $(addprefix $(BUILD)/cupti/,shared_cupti profiled_steps late_cupti real_records gpu_sink.so usual_metrics)

$(filter $(BUILD)/fake/libcupti%,$(FAKE_CUPTI)): $(FAKE_CUPTI_NEEDS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -fPIC -shared -Wl,-soname,$(@F) -o $@ $(filter %.c,$(FAKE_CUPTI_NEEDS)) -lpthread -ldl
$(BUILD)/fake/cupti_part/libcupti.so.13: $(FAKE_CUPTI_NEEDS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DFAKE_CUPTI_PART -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -lpthread -ldl
# libraries that the real CUPTI opens by their names
$(BUILD)/fake/libnvperf_%.so: tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ -x c /dev/null
# the layouts that counters need, against the headers of CUDA
$(BUILD)/cupti/range_profiler_check.o: tests/cupti/range_profiler_check.cc interpose/counters/range_profiler_abi.h $(wildcard interpose/counters/*.def)
	@mkdir -p $(@D)
	$(SAY_CC)$(CXX) -std=c++17 -isystem $(CUDA_INCLUDE) -c -o $@ $<
$(BUILD)/cupti/gpu_sink.so: tests/cupti/gpu_sink.c tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -fPIC -shared -o $@ $< -lpthread
USUAL_METRICS := tests/cupti/usual_metrics.c interpose/cupti/cupti_library.c interpose/cupti/cupti_holder.c \
	interpose/lookup/elf_tables.c
$(BUILD)/cupti/usual_metrics: $(USUAL_METRICS) $(wildcard interpose/counters/*) $(wildcard libgpuprof/format/*_metrics.def) tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -o $@ $(USUAL_METRICS) -ldl
$(BUILD)/cupti/shared_cupti $(BUILD)/cupti/profiled_steps: $(BUILD)/cupti/%: tests/cupti/%.c $(BUILD)/fake/libcupti.so.13 tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) $(CUDA_CHECK) -o $@ $< -L$(BUILD)/fake -l:libcupti.so.13 -lpthread -ldl
$(BUILD)/cupti/late_cupti $(BUILD)/cupti/real_records: $(BUILD)/cupti/%: tests/cupti/%.c tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -o $@ $< -lpthread -ldl

CUPTI_TESTS += $(if $(wildcard $(CUDA_INCLUDE)/cupti_range_profiler.h),$(BUILD)/cupti/range_profiler_check.o)
tests: $(CUPTI_TESTS) $(FAKE_CUPTI)
check-cupti: $(CUPTI_TESTS) $(FAKE_CUPTI) $(BUILD)/libgpuprof-cupti.so $(BUILD)/fake/libcuda.so.1 ## run jobs that share CUPTI with us (SCENARIOS="windows threads")
	@tests/run_cupti.sh $(BUILD) $(SCENARIOS)

.PHONY: check-cupti
