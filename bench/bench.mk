# The cost of recording and reading, on the fake driver: `make bench`.
LTTNG_INCLUDE ?= $(wildcard /usr/include/lttng/tracepoint.h /usr/include/$(shell $(CC) -dumpmachine)/lttng/tracepoint.h)
BENCH := $(addprefix $(BUILD)/bench/,call_cost use_cost drain_cost checkpoint_stall memory_cost range_cost start_cost replay_rate state_at frag_rate lives_rate $(if $(LTTNG_INCLUDE),lttng_peer))

# the anchor of exports as databases, of which it needs one: `make bench` does not run it
$(BUILD)/bench/insert_rate: bench/insert_rate.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -O2 -o $@ $< $(SQLITE_LIB) -lm -lpthread -ldl

$(BUILD)/bench/replay_rate $(BUILD)/bench/state_at $(BUILD)/bench/frag_rate $(BUILD)/bench/lives_rate: $(BUILD)/bench/%: bench/%.c $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS)
# the macros of LTTng cause warnings with our flags
$(BUILD)/bench/lttng_peer: bench/lttng_peer.c bench/lttng_peer.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) -std=gnu17 $(CFLAGS) -I. -o $@ $< -llttng-ust -ldl
$(BUILD)/bench/%: bench/%.c bench/burst.h tests/fake/driver_entry.h libgpuprof/format/layout.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -lpthread -ldl

BENCH += $(addprefix $(BUILD)/bench/,native_cost libpython_cost.so libmixed_stack.so libblock_cost.so insert_rate)
# built with the tests, so that a change of the code cannot break them unnoticed
tests: $(BENCH)
bench: all $(BENCH) $(BUILD)/victims/leak_two $(BUILD)/victims/training_loop $(BUILD)/fake/libc10.so $(BUILD)/fake/torch-2.11/version.py ## print what recording and reading cost, write $(BUILD)/bench.json
	@bench/bench.sh $(BUILD)

.PHONY: bench
