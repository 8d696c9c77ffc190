# Snapshots for other tools: recordings of an invented job, and the expected exports.
$(BUILD)/export/write_history: tests/export/write_history.c tests/unit/recording_writer.h $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -o $@ $< $(BUILD)/libgpuprof-read.a $(READ_LIBS) $(UNIT_LIBS)
tests check-export: $(BUILD)/export/write_history
check-export: all $(BUILD)/frag/made_gpu_time ## read exported files with readers of their own
	@tests/run_export.sh $(BUILD)
	@tests/run_export_stacks.sh $(BUILD)
	@tests/run_export_tables.sh $(BUILD)

.PHONY: check-export
# the same program with small pieces of traces
$(BUILD)/export/gpuprof_pieces: tools/export/trace/trace.c $(BUILD)/gpuprof
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -Ilibgpuprof -DGP_TRACE_PIECE_BYTES=100000u -c -o $@.o $< && \
	$(CC) $(SAN) $(LDFLAGS) -o $@ $@.o $(filter-out %/export/trace/trace.c.o,$(TOOL_OBJ)) $(BUILD)/libgpuprof-read.a $(TOOL_LIBS)
tests check-export-trace: $(BUILD)/export/gpuprof_pieces
check-export-trace: all ## compare exported traces with the other commands
	@tests/run_export_trace.sh $(BUILD)

.PHONY: check-export-trace
# Opt-in: NSYS=DIR has the unpacked packages of Nsight Systems. Else both are fetched from Debian's
# non-free component into $(BUILD)/run, 670 MB, with lists of packages of their own.
check-nsys: all $(BUILD)/frag/made_gpu_time ## let Nsight Systems read an export (network; NSYS=DIR)
	@tests/run_nsys.sh $(BUILD) $(NSYS)

.PHONY: check-nsys
