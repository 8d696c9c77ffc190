# Tools that tests/run_company.sh runs together with the preloaded job.
COMPANY := $(addprefix $(BUILD)/company/,stop_and_read count_bindings.so greedy_malloc.so)
HAS_ASAN := $(wildcard $(shell $(CC) -print-file-name=libasan.so))
COMPANY += $(if $(HAS_ASAN),$(BUILD)/company/asan_faults)
HAS_TSAN := $(wildcard $(shell $(CC) -print-file-name=libtsan.so))
COMPANY += $(if $(HAS_TSAN),$(BUILD)/company/tsan_race)
# clang links its runtime into the program
HAS_CLANG_TSAN := $(wildcard $(shell clang -print-file-name=libclang_rt.tsan-x86_64.a 2>/dev/null))
COMPANY += $(if $(HAS_CLANG_TSAN),$(BUILD)/company/tsan_race_clang)

$(BUILD)/company/stop_and_read: tests/company/stop_and_read.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $<
$(BUILD)/company/count_bindings.so: tests/company/count_bindings.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $<
$(BUILD)/company/greedy_malloc.so: tests/company/greedy_malloc.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $< -ldl
$(BUILD)/company/asan_faults: tests/company/asan_faults.c tests/victims/victim.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fsanitize=address -o $@ $< -lpthread -ldl
$(BUILD)/company/tsan_race: tests/company/tsan_race.c tests/victims/victim.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fsanitize=thread -o $@ $< -lpthread -ldl
$(BUILD)/company/tsan_race_clang: tests/company/tsan_race.c tests/victims/victim.h
	@mkdir -p $(@D)
	$(SAY_LD)clang $(BASE) -fsanitize=thread -o $@ $< -lpthread -ldl

# a program can have only one sanitizer
tests: $(if $(SAN),,$(COMPANY))
check-company: tests ## run recorded jobs beside other tools (COMPANY_OF="gdb valgrind")
	@tests/run_company.sh $(BUILD) $(COMPANY_OF)

.PHONY: check-company
