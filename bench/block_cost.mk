# The cost of a block of the caching allocator with default options, with warm and with cold caches.
$(BUILD)/bench/libblock_cost.so: bench/block_cost.c bench/stopwatch.h tests/fake/fake_c10.h tests/unit/native_paths.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -fPIC -shared -o $@ $< -ldl
