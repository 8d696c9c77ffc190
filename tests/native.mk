# Native stacks: libraries that the tests map at each other's addresses, and files for them.
# One must fit at the address of the other, so they are built without a sanitizer, which makes them larger.
$(BUILD)/native/libcallee_small.so: tests/native/callee.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -fsanitize%,$(BASE)) -DROOM=304 -fPIC -shared -o $@ $<
$(BUILD)/native/libcallee_large.so: tests/native/callee.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -fsanitize%,$(BASE)) -DROOM=1328 -fPIC -shared -o $@ $<

$(BUILD)/unit/test_native_walk $(BUILD)/unit/test_native_unload: $(BUILD)/native/libcallee_small.so $(BUILD)/native/libcallee_large.so
$(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_native*.c)): | $(if $(UNWIND),$(BUILD)/libgpuprof-unwind.so)
$(BUILD)/unit/test_native_own.o: UNIT_FLAGS := -fomit-frame-pointer

# the victim loads these libraries
$(BUILD)/victims/library_in_anothers_place $(BUILD)/victims/look_like_another_library: | $(BUILD)/native/libcallee_small.so $(BUILD)/native/libcallee_large.so

# in C++, if there is a compiler for it
ifneq ($(shell command -v $(CXX)),)
$(BUILD)/victims/throw_through_frames: tests/victims/throw_through_frames.cc
	@mkdir -p $(@D)
	$(SAY_LD)$(CXX) -std=c++17 $(CFLAGS) -Wall -Wextra -Wshadow -Werror -o $@ $< -lpthread -ldl
tests check-victims: $(BUILD)/victims/throw_through_frames
$(BUILD)/entry_points/engine_missing: tests/entry_points/engine_missing.cc
	@mkdir -p $(@D)
	$(SAY_LD)$(CXX) -std=c++17 $(CFLAGS) -Wall -Wextra -Wshadow -Werror -o $@ $<
tests: $(BUILD)/entry_points/engine_missing
endif
