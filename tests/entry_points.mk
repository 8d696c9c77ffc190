# Programs and libraries for tests/unit/test_entry_points.c: the ways in which programs look up the driver.
ENTRY_POINTS := $(addprefix $(BUILD)/entry_points/,entry_probe libentry.so libentry_needing.so entry_linked entry_loading entry_resolved entry_weak entry_weak_old old/libcuda.so.1 second/libcuda.so.1 libentry_tool.so entry_off entry_plugins libentry_plugin.so entry_copies copy_one/libc10.so copy_two/libc10.so libentry_caller_one.so libentry_caller_two.so libentry_elf_interposer.so libentry_managed.so libentry_malloc.so libentry_early.so entry_echo echo/libcuda.so.1 libentry_stubs.so)
CUDART_STATIC := $(firstword $(wildcard $(CUDA_INCLUDE)/../lib64/libcudart_static.a $(CUDA_INCLUDE)/../lib/libcudart_static.a))
CUDA_STUB := $(firstword $(wildcard $(CUDA_INCLUDE)/../lib64/stubs/libcuda.so $(CUDA_INCLUDE)/../lib/stubs/libcuda.so))
ifneq ($(and $(CUDART_STATIC),$(CUDA_STUB)),)
ENTRY_POINTS += $(BUILD)/entry_points/entry_runtime $(BUILD)/entry_points/stub/libcuda.so.1
endif

$(BUILD)/entry_points/entry_probe: tests/entry_points/entry_probe.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -rdynamic -o $@ $< -lpthread -ldl
$(BUILD)/entry_points/entry_weak: tests/entry_points/entry_weak.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $<
$(BUILD)/entry_points/old/libcuda.so.1: tests/entry_points/entry_weak.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DOLD_DRIVER -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(BUILD)/entry_points/entry_weak_old: tests/entry_points/entry_weak.c $(BUILD)/entry_points/old/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DLINKED -o $@ $< -L$(BUILD)/entry_points/old -l:libcuda.so.1
$(BUILD)/entry_points/second/libcuda.so.1: $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/entry_points/entry_linked: tests/entry_points/entry_linked.c $(BUILD)/fake/libcuda.so.1 $(BUILD)/entry_points/libentry_early.so
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -L$(BUILD)/entry_points -lentry_early -ldl
$(BUILD)/entry_points/entry_loading: tests/entry_points/entry_loading.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -lpthread -ldl
$(BUILD)/entry_points/entry_off: tests/entry_points/entry_off.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -rdynamic -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -lpthread -ldl
$(BUILD)/entry_points/entry_plugins: tests/entry_points/entry_plugins.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/entry_points/libentry_shim.so: tests/entry_points/entry_shim.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -ldl
$(BUILD)/entry_points/libentry_plugin.so: tests/entry_points/entry_shim.c $(BUILD)/entry_points/libentry_shim.so $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DPLUGIN -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -Wl,--no-as-needed -L$(@D) -lentry_shim -L$(BUILD)/fake -l:libcuda.so.1 -ldl
$(BUILD)/entry_points/entry_copies: tests/entry_points/entry_copies.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/entry_points/copy_%/libc10.so: $(BUILD)/fake/libc10.so
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/entry_points/libentry_engine_%.so: tests/entry_points/entry_engine.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DWHO='"$*"' -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(BUILD)/entry_points/libentry_caller_%.so: tests/entry_points/entry_engine.c $(BUILD)/entry_points/libentry_engine_%.so
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DCALLER -DWHO='"caller of $*"' -fPIC -shared -Wl,-soname,$(@F),--no-as-needed -o $@ $< -L$(@D) -lentry_engine_$*
$(BUILD)/entry_points/entry_resolved: tests/entry_points/entry_resolved.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/entry_points/libentry_tool.so: tests/entry_points/entry_tool.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libentry_tool.so -o $@ $< -ldl
$(BUILD)/entry_points/libentry_early.so: tests/entry_points/entry_early.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libentry_early.so -o $@ $< -ldl
$(BUILD)/entry_points/libentry.so: tests/entry_points/entry_library.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libentry.so -o $@ $< -ldl
$(BUILD)/entry_points/libentry_needing.so: tests/entry_points/entry_library.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libentry_needing.so -Wl,--no-as-needed -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -ldl
$(BUILD)/entry_points/libentry_elf_interposer.so: tests/entry_points/entry_elf_interposer.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libentry_elf_interposer.so -o $@ $< -ldl
$(BUILD)/entry_points/libentry_managed.so: tests/entry_points/entry_managed.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1
$(BUILD)/entry_points/libentry_malloc.so: tests/entry_points/entry_malloc.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fno-builtin -fPIC -shared -Wl,-soname,libentry_malloc.so -o $@ $< -ldl
$(BUILD)/entry_points/libentry_stubs.so: tests/entry_points/entry_stubs.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-Bsymbolic,-soname,libentry_stubs.so -o $@ $< -ldl
$(BUILD)/entry_points/echo/libcuda.so.1: tests/entry_points/echo_driver.c interpose/driver/cuda_api.def interpose/driver/cuda_copies.def
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<
$(BUILD)/entry_points/entry_echo: tests/entry_points/entry_echo.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/entry_points/entry_runtime: tests/entry_points/entry_runtime.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -isystem $(CUDA_INCLUDE) -o $@ $< $(CUDART_STATIC) -lpthread -ldl -lrt
$(BUILD)/entry_points/stub/libcuda.so.1: $(CUDA_STUB)
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/unit/test_entry_points: $(ENTRY_POINTS) $(BUILD)/libgpuprof.so $(BUILD)/fake/libcuda.so.1 $(BUILD)/fake/other_interposer.so \
	$(BUILD)/fake/libconstructor.so
$(BUILD)/unit/test_fake_driver: $(BUILD)/fake/libcuda.so.1
