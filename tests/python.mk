# Python's own frames, under every interpreter of this machine.
$(BUILD)/python/libwitness.so: tests/python/witness.c $(filter %/record/python_walk.c.o %/record/python_prove.c.o %/record/python_code.c.o \
		%/record/python_layout.c.o %/record/python_line.c.o %/record/python_text.c.o,$(RECORD_OBJ))
	@mkdir -p $(@D)
	$(CC) $(BASE) -fPIC -shared -o $@ $^ -lpthread -ldl

tests: $(BUILD)/python/libwitness.so
check-python: $(BUILD)/python/libwitness.so ## walk Python's frames under every interpreter of this machine (PYTHONS, FULL=1)
	@FULL=$(FULL) tests/run_python.sh $(BUILD)

.PHONY: check-python
