# Names stored in recordings: libraries that the tests of `run` and `symbolize` preload.
$(BUILD)/fake/hurry.so: tests/fake/hurry.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $< -ldl
# a reader of these names, written only from docs/FORMAT.md
$(BUILD)/format/golden_names: $(addprefix tests/format/,golden_names.c golden_decoder.c golden.h)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -o $@ $(filter %.c,$^) $(ZSTD_STATIC)
tests: $(BUILD)/format/golden_names
tests check-cli bless: $(BUILD)/fake/hurry.so
