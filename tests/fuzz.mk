# Fuzzing. A target is tests/fuzz/fuzz_NAME.c. `make check-fuzz` replays the kept inputs with any compiler.
FUZZ_RUNS    ?= 200
FUZZ_SAN     ?= -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_CLANG   ?= clang
FUZZ_NAMES   := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SHARED  := $(filter-out tests/fuzz/driver.c tests/fuzz/fuzz_%,$(wildcard tests/fuzz/*.c))
FUZZ_TESTED  := $(READ_SRC) $(filter-out tools/main.c,$(TOOL_SRC)) $(FUZZ_SHARED)
FUZZ_LISTS   := $(addprefix tool/,commands formats exports)
# lines are enough for a report of a sanitizer; variables cost a third of the compile time
FUZZ_BASE    := -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -MMD -MP -g1 -Itools -Ilibgpuprof

# Builds all targets: $(1) folder, $(2) compiler, $(3) flags, $(4) flags of the link, $(5) an object with main
define FUZZ_BUILD
FUZZ_OBJ_$(1) := $$(patsubst %,$$(BUILD)/fuzz/$(1)/%.o,$$(basename $$(FUZZ_TESTED)) $$(FUZZ_LISTS))
FUZZERS_$(1)  := $$(FUZZ_NAMES:%=$$(BUILD)/fuzz/$(1)/fuzz_%)
$$(BUILD)/fuzz/$(1)/tool/%.o: $$(BUILD)/tool/%.c
	@mkdir -p $$(@D)
	$$(SAY_CC)$(2) $$(FUZZ_BASE) $(3) -c -o $$@ $$<
$$(BUILD)/fuzz/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(SAY_CC)$(2) $$(FUZZ_BASE) $(3) -c -o $$@ $$<
$$(BUILD)/fuzz/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$(SAY_CC)$(2) -c -o $$@ $$<
$$(FUZZERS_$(1)): $$(BUILD)/fuzz/$(1)/%: $$(BUILD)/fuzz/$(1)/tests/fuzz/%.o $$(FUZZ_OBJ_$(1)) $(5)
	$$(SAY_LD)$(2) $(3) $(4) -o $$@ $$^ $$(TOOL_LIBS) -Wl,-rpath,'$$$$ORIGIN/../lib'
-include $$(FUZZ_OBJ_$(1):.o=.d) $$(FUZZ_NAMES:%=$$(BUILD)/fuzz/$(1)/tests/fuzz/fuzz_%.d)
endef
FUZZ_EDGES := -O1 -fsanitize=fuzzer-no-link
$(eval $(call FUZZ_BUILD,driver,$$(CC),-O1 $$(FUZZ_SAN),,$$(BUILD)/fuzz/driver/tests/fuzz/driver.o))
$(eval $(call FUZZ_BUILD,libfuzzer,$$(FUZZ_CLANG),$$(FUZZ_EDGES) $$(FUZZ_SAN),-fsanitize=fuzzer,))
# without AddressSanitizer, so that runs can be limited in time and memory
$(eval $(call FUZZ_BUILD,bounds,$$(FUZZ_CLANG),$$(FUZZ_EDGES),-fsanitize=fuzzer,))
$(eval $(call FUZZ_BUILD,afl,afl-clang-fast,-O1 -fsanitize=undefined -fno-sanitize-recover=undefined,-fsanitize=fuzzer,))

# AFL++ loads its mutator
FUZZ_MUTATORS := $(wildcard tests/fuzz/mutate*.c) tests/fuzz/random.c tests/fuzz/recording_parts.c
$(BUILD)/fuzz/mutator.so: $(FUZZ_MUTATORS) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -DFUZZ_AFL -fPIC -shared -Wl,--as-needed,--exclude-libs,ALL -o $@ $^ $(READ_LIBS)

# built with the tests, so that a change cannot break them unnoticed
FUZZ_OBJ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%.o,$(wildcard tests/fuzz/*.c))
$(BUILD)/fuzz/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(BASE) -Ilibgpuprof -c -o $@ $<
-include $(FUZZ_OBJ:.o=.d)
tests: $(FUZZ_OBJ)

# the objects of the program as users run it, limited in time and memory
FUZZ_PLAIN := $(BUILD)/fuzz/plain/fuzz_commands
$(FUZZ_PLAIN): $(patsubst tests/%.c,$(BUILD)/%.o,$(FUZZ_SHARED) tests/fuzz/driver.c tests/fuzz/fuzz_commands.c) \
		$(filter-out %/main.c.o,$(TOOL_OBJ)) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(SAN) -o $@ $^ $(TOOL_LIBS) -Wl,-rpath,'$$ORIGIN/../lib'

check-fuzz: $(FUZZ_PLAIN) $(FUZZERS_driver) $(BUILD)/hostile/made_hostile $(PLACES) ## replay the kept inputs under ASan and UBSan, with FUZZ_RUNS mutations of each target, and within bounds of time and memory
	@tests/run_fuzz.sh $(BUILD) $(FUZZ_RUNS)
	@tests/run_fuzz.sh $(BUILD) bounds
tests: $(if $(filter fuzz,$(WITH)),$(FUZZ_PLAIN) $(FUZZERS_driver))

# campaigns: clang, AFL++; they keep inputs in $(BUILD)/fuzz/out
FUZZ_SECONDS ?= 600
FUZZ_JOBS    ?= $(shell nproc)
fuzz: $(FUZZERS_driver) $(FUZZERS_libfuzzer) $(FUZZERS_bounds) $(if $(shell command -v afl-fuzz),$(FUZZERS_afl)) \
		$(BUILD)/fuzz/mutator.so $(BUILD)/hostile/made_hostile $(PLACES) ## fuzz all targets with libFuzzer and AFL++ (FUZZ_SECONDS, FUZZ_JOBS)
	@tests/run_fuzz.sh $(BUILD) seeds
	@tests/fuzz/campaign.sh $(BUILD)/fuzz $(BUILD)/run/fuzz/seeds $(BUILD)/fuzz/out $(FUZZ_SECONDS) $(FUZZ_JOBS)

# The lines that ran, from gcov.
COVERAGE_LEAST ?= 85
COVERAGE_ROOMS := libgpuprof/read libgpuprof/format
coverage: ## print the lines of the reader and the codec that unit tests and kept inputs run; fails below COVERAGE_LEAST percent and where a unit fails
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage SAN=--coverage FUZZ_SAN=--coverage covered
covered: $(UNIT) $(FUZZERS_driver) $(BUILD)/hostile/made_hostile $(PLACES)
	@find $(BUILD) -name '*.gcda' -delete
	@tests/run_units.sh $(BUILD)
	@tests/run_fuzz.sh $(BUILD) 0
	@tests/coverage.py $(BUILD) $(COVERAGE_LEAST) $(COVERAGE_ROOMS)

.PHONY: check-fuzz fuzz coverage covered
