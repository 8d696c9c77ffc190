# Recordings for the tests of `gpuprof frag` and `gpuprof oom`.
$(BUILD)/frag/%: tests/frag/%.c tests/frag/made_job.h tests/unit/recording_writer.h \
		$(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS) $(UNIT_LIBS)

tests check-cli bless: $(BUILD)/frag/made_memory $(BUILD)/frag/made_oom
