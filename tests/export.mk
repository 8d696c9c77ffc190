# Snapshots for other tools: recordings of an invented job, and the expected exports.
$(BUILD)/export/write_history: tests/export/write_history.c tests/unit/recording_writer.h $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS) $(UNIT_LIBS)
tests check-export: $(BUILD)/export/write_history
check-export: $(BUILD)/frag/made_gpu_time
check-export: all ## read exported files with readers of their own
	@tests/run_export.sh $(BUILD)
	@tests/run_export_stacks.sh $(BUILD)

.PHONY: check-export
