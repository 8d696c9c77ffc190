# Hostile recordings, and the limits for commands that read them.
$(BUILD)/hostile/%: tests/hostile/%.c $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS)

tests: $(BUILD)/hostile/made_hostile

check-hostile: all $(BUILD)/hostile/made_hostile ## feed hostile recordings to the commands
	@tests/run_hostile.sh $(BUILD)
.PHONY: check-hostile
