# The cost of an event below Python and C, measured inside a running interpreter.
$(BUILD)/bench/libmixed_stack.so: bench/mixed_stack.c bench/burst.h bench/stopwatch.h tests/fake/driver_entry.h tests/unit/native_paths.h libgpuprof/format/layout.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -fPIC -shared -o $@ $< -ldl
