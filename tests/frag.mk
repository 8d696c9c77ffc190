# Recordings for the tests of `gpuprof frag`, `gpuprof oom` and `gpuprof kernels`.
$(BUILD)/frag/%: tests/frag/%.c tests/frag/made_job.h tests/unit/recording_writer.h tests/unit/gpu_records.h \
		$(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS) $(UNIT_LIBS)

tests check-cli bless: $(BUILD)/frag/made_memory $(BUILD)/frag/made_oom $(BUILD)/frag/made_gpu_time
