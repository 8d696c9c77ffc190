# Native stacks beside libunwind's own: prints for a person, figures on stdout as the other programs.
NATIVE_OBJ := $(filter $(addprefix %/record/,native_bounds.c.o native_gate.c.o native_learn.c.o native_memo.c.o native_rule.c.o \
	native_walk.c.o walking_stack.c.o futex.c.o),$(RECORD_OBJ))

$(BUILD)/bench/native_cost: bench/native_cost.c bench/stopwatch.h tests/unit/native_paths.h $(NATIVE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(BASE) -o $@ $< $(NATIVE_OBJ) -lpthread -ldl

bench-native: $(BUILD)/bench/native_cost $(BUILD)/libgpuprof-unwind.so ## print what native stacks cost beside unw_backtrace
	@$(BUILD)/bench/native_cost $(abspath $(BUILD))/libgpuprof-unwind.so >$(BUILD)/bench/native_cost.out

.PHONY: bench-native
