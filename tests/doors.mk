# Programs and libraries for tests/unit/test_doors.c: the ways in which programs look up the driver.
DOORS := $(addprefix $(BUILD)/doors/,door_probe libdoor.so libdoor_needing.so door_linked door_loading door_resolved door_weak door_weak_old old/libcuda.so.1 second/libcuda.so.1 libdoor_tool.so door_off door_plugins libdoor_plugin.so door_copies copy_one/libc10.so copy_two/libc10.so libdoor_caller_one.so libdoor_caller_two.so libdoor_elf_interposer.so libdoor_managed.so libdoor_malloc.so libdoor_early.so door_echo echo/libcuda.so.1 libdoor_stubs.so)
CUDART_STATIC := $(firstword $(wildcard $(CUDA_INCLUDE)/../lib64/libcudart_static.a $(CUDA_INCLUDE)/../lib/libcudart_static.a))
CUDA_STUB := $(firstword $(wildcard $(CUDA_INCLUDE)/../lib64/stubs/libcuda.so $(CUDA_INCLUDE)/../lib/stubs/libcuda.so))
ifneq ($(and $(CUDART_STATIC),$(CUDA_STUB)),)
DOORS += $(BUILD)/doors/door_runtime $(BUILD)/doors/stub/libcuda.so.1
endif

$(BUILD)/doors/door_probe: tests/doors/door_probe.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -rdynamic -o $@ $< -lpthread -ldl
$(BUILD)/doors/door_weak: tests/doors/door_weak.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $<
$(BUILD)/doors/old/libcuda.so.1: tests/doors/door_weak.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DOLD_DRIVER -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(BUILD)/doors/door_weak_old: tests/doors/door_weak.c $(BUILD)/doors/old/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DLINKED -o $@ $< -L$(BUILD)/doors/old -l:libcuda.so.1
$(BUILD)/doors/second/libcuda.so.1: $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/doors/door_linked: tests/doors/door_linked.c $(BUILD)/fake/libcuda.so.1 $(BUILD)/doors/libdoor_early.so
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -L$(BUILD)/doors -ldoor_early -ldl
$(BUILD)/doors/door_loading: tests/doors/door_loading.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -lpthread -ldl
$(BUILD)/doors/door_off: tests/doors/door_off.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -rdynamic -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -lpthread -ldl
$(BUILD)/doors/door_plugins: tests/doors/door_plugins.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/doors/libdoor_shim.so: tests/doors/door_shim.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -ldl
$(BUILD)/doors/libdoor_plugin.so: tests/doors/door_shim.c $(BUILD)/doors/libdoor_shim.so $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DPLUGIN -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -Wl,--no-as-needed -L$(@D) -ldoor_shim -L$(BUILD)/fake -l:libcuda.so.1 -ldl
$(BUILD)/doors/door_copies: tests/doors/door_copies.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/doors/copy_%/libc10.so: $(BUILD)/fake/libc10.so
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/doors/libdoor_engine_%.so: tests/doors/door_engine.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DWHO='"$*"' -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(BUILD)/doors/libdoor_caller_%.so: tests/doors/door_engine.c $(BUILD)/doors/libdoor_engine_%.so
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -DCALLER -DWHO='"caller of $*"' -fPIC -shared -Wl,-soname,$(@F),--no-as-needed -o $@ $< -L$(@D) -ldoor_engine_$*
$(BUILD)/doors/door_resolved: tests/doors/door_resolved.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/doors/libdoor_tool.so: tests/doors/door_tool.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libdoor_tool.so -o $@ $< -ldl
$(BUILD)/doors/libdoor_early.so: tests/doors/door_early.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libdoor_early.so -o $@ $< -ldl
$(BUILD)/doors/libdoor.so: tests/doors/door_library.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libdoor.so -o $@ $< -ldl
$(BUILD)/doors/libdoor_needing.so: tests/doors/door_library.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libdoor_needing.so -Wl,--no-as-needed -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1 -ldl
$(BUILD)/doors/libdoor_elf_interposer.so: tests/doors/door_elf_interposer.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libdoor_elf_interposer.so -o $@ $< -ldl
$(BUILD)/doors/libdoor_managed.so: tests/doors/door_managed.c $(BUILD)/fake/libcuda.so.1
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $< -L$(BUILD)/fake -l:libcuda.so.1
$(BUILD)/doors/libdoor_malloc.so: tests/doors/door_malloc.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fno-builtin -fPIC -shared -Wl,-soname,libdoor_malloc.so -o $@ $< -ldl
$(BUILD)/doors/libdoor_stubs.so: tests/doors/door_stubs.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-Bsymbolic,-soname,libdoor_stubs.so -o $@ $< -ldl
$(BUILD)/doors/echo/libcuda.so.1: tests/doors/echo_driver.c interpose/driver/cuda_api.def
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<
$(BUILD)/doors/door_echo: tests/doors/door_echo.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $< -ldl
$(BUILD)/doors/door_runtime: tests/doors/door_runtime.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -isystem $(CUDA_INCLUDE) -o $@ $< $(CUDART_STATIC) -lpthread -ldl -lrt
$(BUILD)/doors/stub/libcuda.so.1: $(CUDA_STUB)
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/unit/test_doors: $(DOORS) $(BUILD)/libgpuprof.so $(BUILD)/fake/libcuda.so.1 $(BUILD)/fake/other_interposer.so \
	$(BUILD)/fake/libconstructor.so
$(BUILD)/unit/test_fake_driver: $(BUILD)/fake/libcuda.so.1
