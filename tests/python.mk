# Python's own frames, under every interpreter of this machine.
PYTHON_OBJ := $(filter $(addprefix $(BUILD)/read/libgpuprof/record/,python/% process/thread_memory% native/native_bounds%),$(RECORD_OBJ))
$(BUILD)/python/libwitness.so: tests/python/witness.c $(PYTHON_OBJ) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-z,defs -o $@ $< $(PYTHON_OBJ) $(BUILD)/libgpuprof-read.a -lpthread -ldl

$(BUILD)/python/liballocate_without_end.so: tests/stacks/allocate_without_end.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-z,defs -o $@ $<

tests: $(BUILD)/python/libwitness.so $(BUILD)/python/liballocate_without_end.so
check-python: $(BUILD)/python/libwitness.so ## walk Python's frames under every interpreter of this machine (PYTHONS, FULL=1)
	@FULL=$(FULL) tests/run_python.sh $(BUILD)

.PHONY: check-python
