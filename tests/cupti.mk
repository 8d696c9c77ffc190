# The object for --gpu-time beside a job that uses CUPTI itself, with a fake CUPTI over the fake driver.
FAKE_CUPTI := $(addprefix $(BUILD)/fake/,libcupti.so.13 libcupti.so.12 cupti_part/libcupti.so.13)
FAKE_CUPTI_NEEDS := tests/fake/fake_cupti.c tests/fake/fake_operation.h interpose/cupti/cupti_abi.h tests/cupti.mk
CUPTI_TESTS := $(addprefix $(BUILD)/cupti/,shared_cupti late_cupti real_records gpu_sink.so)

$(filter $(BUILD)/fake/libcupti%,$(FAKE_CUPTI)): $(FAKE_CUPTI_NEEDS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -lpthread -ldl
$(BUILD)/fake/cupti_part/libcupti.so.13: $(FAKE_CUPTI_NEEDS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DFAKE_CUPTI_PART -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -lpthread -ldl
$(BUILD)/cupti/gpu_sink.so: tests/cupti/gpu_sink.c tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -fPIC -shared -o $@ $< -lpthread
$(BUILD)/cupti/shared_cupti: tests/cupti/shared_cupti.c $(BUILD)/fake/libcupti.so.13 tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -o $@ $< -L$(BUILD)/fake -l:libcupti.so.13 -lpthread -ldl
$(BUILD)/cupti/late_cupti $(BUILD)/cupti/real_records: $(BUILD)/cupti/%: tests/cupti/%.c tests/cupti.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(SAN) -o $@ $< -lpthread -ldl

tests: $(CUPTI_TESTS) $(FAKE_CUPTI)
check-cupti: $(CUPTI_TESTS) $(FAKE_CUPTI) $(BUILD)/libgpuprof-cupti.so $(BUILD)/fake/libcuda.so.1 ## run jobs that share CUPTI with us (SCENARIOS="windows threads")
	@tests/run_cupti.sh $(BUILD) $(SCENARIOS)

.PHONY: check-cupti
