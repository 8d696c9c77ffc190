# the operators with the names that tests of `peak` look for
$(BUILD)/fake/libtorch_cpu.so: tests/fake/fake_operators.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -g0 -fPIC -shared -Wl,-soname,libtorch_cpu.so -o $@ $< -lpthread -ldl
tests check-cli: $(BUILD)/fake/libtorch_cpu.so
