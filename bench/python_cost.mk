# The cost of a Python frame, measured inside a running interpreter.
$(BUILD)/bench/libpython_cost.so: bench/python_cost.c $(wildcard libgpuprof/record/python/*.c) libgpuprof/record/process/thread_memory.c libgpuprof/record/native/native_bounds.c $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(filter-out -MMD -MP,$(BASE)) -fPIC -fno-semantic-interposition -shared -Wl,-z,defs -o $@ $^ -lpthread -ldl
