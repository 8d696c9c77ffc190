# Tests that need no GPU. `check` uses small counts; FULL=1 and STORM_KILLS=200 use the full ones.
STORM_KILLS ?= 12
FULL        ?=
RESULTS     := $(abspath $(BUILD))/run/results
# WITH="page fuzz lint": further suites, which `.ci/run` lets run beside the others
WITH        ?=
WITH_fuzz   := fuzz/recording fuzz/commands fuzz/bounds
WITH_SUITES := $(foreach suite,$(WITH),$(or $(WITH_$(suite)),$(suite)))
# the suites, the slowest first, so that no core waits at the end: tests/run_SUITE.sh $(BUILD), unless RUN_SUITE is set
SUITES      := cli hostile unit $(WITH_SUITES) consistency export stacks victim victim_with_stacks format python company \
	json failures ranks new_stacks export_trace install cupti export_tables deps launchers reading storm/sigkill \
	export_stacks storm/kill_points readme driver_failures namespaces shell interposers
RUN_unit               = tests/run_units.sh $(BUILD)
RUN_victim             = tests/run_victims.sh $(BUILD)
RUN_victim_with_stacks = env STACKS=all tests/run_victims.sh $(BUILD)
RUN_failures           = env CALLS_MAX=$(if $(FULL),1000,30) tests/run_failures.sh $(BUILD)
RUN_storm/kill_points  = tests/run_storm.sh $(BUILD) kill_points $(if $(FULL),1,8)
RUN_storm/sigkill      = tests/run_storm.sh $(BUILD) sigkill $(STORM_KILLS)
RUN_fuzz/recording     = tests/run_fuzz.sh $(BUILD) $(FUZZ_RUNS) recording block symbols baseline rings
RUN_fuzz/commands      = tests/run_fuzz.sh $(BUILD) $(FUZZ_RUNS) commands
RUN_fuzz/bounds        = tests/run_fuzz.sh $(BUILD) bounds
RUN_lint               = env BUILD=$(BUILD) lint/run.sh

$(BUILD)/fake/libconstructor.so: tests/fake/constructor.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libconstructor.so -o $@ $<
$(BUILD)/fake/failing.so: tests/fake/failing.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $< -lpthread -ldl
$(BUILD)/fake/kill_at_write.so: tests/fake/kill_at_write.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $<
$(BUILD)/fake/slow_disk.so: tests/fake/slow_disk.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $<
$(BUILD)/fake/other_interposer.so: tests/fake/other_interposer.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fvisibility=hidden -fPIC -shared -o $@ $< -ldl
# a runtime, and two libraries that call its cudaMallocAsync
$(BUILD)/fake/libcudart_async.so: tests/fake/fake_async.c tests/fake/fake_async.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DRUNTIME -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -ldl
$(BUILD)/fake/lib%_async.so: tests/fake/fake_async.c tests/fake/fake_async.h $(BUILD)/fake/libcudart_async.so
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< $(BUILD)/fake/libcudart_async.so -lpthread
# test_torch reads these
$(BUILD)/unit/test_torch: $(BUILD)/fake/libc10.so interpose/torch/hook_torch.c interpose/lookup/mapped_symbol.c
$(BUILD)/storm/%: tests/storm/%.c $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS)

# a second reader, written only from docs/FORMAT.md, without any code of libgpuprof
GOLDEN := $(BUILD)/format/golden_replay
$(GOLDEN): tests/format/golden_decoder.c tests/format/golden_replay.c tests/format/golden_stacks.c tests/format/golden.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -o $@ $(filter %.c,$^) $(ZSTD_STATIC)

FAKES  := $(addprefix $(BUILD)/fake/,libcuda.so.1 libc10.so libconstructor.so failing.so kill_at_write.so slow_disk.so other_interposer.so libcudart_async.so libc10_cuda_async.so libcublas_async.so)
JUDGES := $(addprefix $(BUILD)/storm/,expect storm)
TESTED := all $(READ_SO) $(MAN1) $(UNIT) $(VICTIMS) $(FAKES) $(JUDGES) $(GOLDEN) $(BUILD)/python/libwitness.so $(addprefix $(BUILD)/wheel/,gpuprof $(notdir $(READ_SO)))

tests: $(TESTED) ## build every test

# The python3 of pyenv is a shell script and takes three times as long to start as Python, so suites get Python itself.
# The build and the suites run in a second make: both use all cores, and the output of each suite stays together.
check: ## run every test that needs no GPU
	@$(MAKE) --no-print-directory $(ALL_CORES) tests
	@mkdir -p $(BUILD)/run/python && rm -f $(RESULTS) $(BUILD)/run/python/python3
	@! command -v python3 >/dev/null || ln -s "$$(python3 -c 'import sys; print(sys.executable)')" $(BUILD)/run/python/python3
	-@cores=$(ALL_CORES); tests/run_suite.sh --beside || cores=-j1; \
		$(MAKE) --no-print-directory $$cores --keep-going --output-sync=target $(SUITES:%=suite/%)
	@tests/run_totals.sh $(RESULTS) $(SUITES)
$(SUITES:%=suite/%): suite/%:
	@RESULTS=$(RESULTS) FULL=$(FULL) PATH=$(abspath $(BUILD))/run/python:$$PATH tests/run_suite.sh $* $(or $(RUN_$*),tests/run_$*.sh $(BUILD))

check-units: $(UNIT) ## run the unit tests only
	@tests/run_units.sh $(BUILD)
check-victims: $(TESTED) ## run the victims only (VICTIM=name: one)
	@FULL=$(FULL) tests/run_victims.sh $(BUILD) $(VICTIM)
	@FULL=$(FULL) STACKS=all tests/run_victims.sh $(BUILD) $(VICTIM)
check-failures: $(TESTED) ## let each system call of the library fail, and each driver call of its own
	@tests/run_failures.sh $(BUILD)
	@tests/run_driver_failures.sh $(BUILD)
check-cli: all ## run the command line tests only
	@tests/run_cli.sh $(BUILD)
bless: all ## take what the command line tests print now as what they expect
	@tests/run_cli.sh $(BUILD) --bless
storm: STORM_KILLS = 200
storm: $(TESTED) ## kill a recording process 200 times (STORM_KILLS) and look at what it left
	@tests/run_storm.sh $(BUILD) sigkill $(STORM_KILLS) $(STORM_SEED)

check-deps: ## call make deps on a machine on which the packages are missing, without a network
	@mkdir -p $(BUILD) && tests/run_deps.sh $(BUILD)
check-fresh: ## run README's commands on fresh machines (root, mmdebstrap, network; FRESH=root-demo: one)
	@mkdir -p $(BUILD) && tests/check_fresh.sh $(BUILD) $(FRESH)
check-packages: all $(BUILD)/victims/leak_two deb wheel portable-wheel ## use deb and wheels on fresh machines (root, mmdebstrap, network, lintian)
	@tests/check_packages.sh $(BUILD) $(PACKAGES)

check-asan: ## run unit and command line tests under AddressSanitizer
	@$(MAKE) BUILD=$(BUILD)/asan SAN="-fsanitize=address -fno-omit-frame-pointer" sanitized
check-ubsan: ## run unit and command line tests under UndefinedBehaviorSanitizer
	@$(MAKE) BUILD=$(BUILD)/ubsan SAN="-fsanitize=undefined -fno-sanitize-recover=undefined" sanitized
# gcc warns about each fence, which ThreadSanitizer does not support; clang has no such warning
check-tsan: NO_TSAN = $(if $(findstring clang,$(shell $(CC) --version)),, -Wno-tsan)
check-tsan: ## run the unit tests under ThreadSanitizer
	@TSAN_OPTIONS=die_after_fork=0 $(MAKE) BUILD=$(BUILD)/tsan SAN="-fsanitize=thread$(NO_TSAN)" check-units
sanitized: tests
	@tests/run_units.sh $(BUILD) && tests/run_cli.sh $(BUILD)

.PHONY: $(SUITES:%=suite/%) tests check check-units check-victims check-failures check-deps check-fresh check-packages check-cli bless storm check-asan check-ubsan check-tsan sanitized
