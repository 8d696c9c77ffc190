# The object for --gpu-time and --metrics, preloaded behind libgpuprof.so: libc only, hidden by default. Its
# exports have no version, so that references to each version of CUPTI bind to them.
CUPTI_SRC := $(wildcard interpose/cupti/*.c interpose/counters/*.c) interpose/lookup/elf_tables.c
CUPTI_OBJ := $(patsubst %,$(BUILD)/preload_cupti/%.o,$(CUPTI_SRC))

$(BUILD)/libgpuprof-cupti.so: $(CUPTI_OBJ) interpose/cupti/cupti.map interpose/cupti_object.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(SAN) $(LDFLAGS) -shared -o $@ $(CUPTI_OBJ) -Wl,--version-script=interpose/cupti/cupti.map \
		-Wl,-z,relro,-z,now,-z,nodelete,-soname,libgpuprof-cupti.so -Wl,--no-undefined -Wl,--as-needed $(PRELOAD_LIBS)
$(BUILD)/preload_cupti/%.c.o: %.c interpose/cupti_object.mk $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(PRELOAD_FLAGS) $(CUDA_CHECK) -c -o $@ $<
all: $(BUILD)/libgpuprof-cupti.so
