# Compares native stacks with those of libunwind. Prints text on stderr, and figures on stdout like the other programs.
$(BUILD)/bench/native_cost: bench/native_cost.c bench/stopwatch.h tests/unit/native_paths.h $(RECORD_OBJ) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< $(RECORD_OBJ) $(BUILD)/libgpuprof-read.a $(READ_LIBS)

bench-native: $(BUILD)/bench/native_cost $(BUILD)/libgpuprof-unwind.so ## print what native stacks cost beside unw_backtrace
	@$(BUILD)/bench/native_cost $(abspath $(BUILD))/libgpuprof-unwind.so >$(BUILD)/bench/native_cost.out

.PHONY: bench-native
