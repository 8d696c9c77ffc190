# Our own copy of libunwind, beside the preload object. isolate_library.c gives it another SONAME. So the loader never
# uses it for a program that needs libunwind, nor the program's copy for us. It binds to its own functions, even if the
# program has libunwind in its global scope. It does not need liblzma, which only look-ups of function names use.
# If the distribution's libunwind cannot be changed in this way, the system's libunwind is used.
UNWIND := $(wildcard $(shell $(CC) -print-file-name=libunwind.so.8))
ifneq ($(UNWIND),)
$(BUILD)/isolate_library: packaging/isolate_library.c $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(LDFLAGS) -o $@ $< -lelf
$(BUILD)/libgpuprof-unwind.so: $(UNWIND) $(BUILD)/isolate_library
	$(SAY_GEN)install -m 755 $< $@.part
	@if $(BUILD)/isolate_library $@.part liblzma.so; then mv $@.part $@; else rm -f $@.part $@; fi
all: $(BUILD)/libgpuprof-unwind.so
endif
