# Python's own frames, under every interpreter of this machine.
PYTHON_OBJ := $(filter $(BUILD)/read/libgpuprof/record/python_% $(BUILD)/read/libgpuprof/record/thread_memory%,$(RECORD_OBJ))
$(BUILD)/python/libwitness.so: tests/python/witness.c $(PYTHON_OBJ) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(CC) $(BASE) -fPIC -shared -o $@ $< $(PYTHON_OBJ) $(BUILD)/libgpuprof-read.a -lpthread -ldl

tests: $(BUILD)/python/libwitness.so
check-python: $(BUILD)/python/libwitness.so ## walk Python's frames under every interpreter of this machine (PYTHONS, FULL=1)
	@FULL=$(FULL) tests/run_python.sh $(BUILD)

.PHONY: check-python
