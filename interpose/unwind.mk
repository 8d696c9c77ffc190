# Our own copy of libunwind, beside the preload object. isolate_library.c gives it another SONAME: the loader then never
# hands it to a program that asks for libunwind, nor the program's to us. It binds to its own functions, also where a
# program has libunwind in its global scope, and leaves out liblzma, which only names of functions need: we ask for
# none. Where the distribution's libunwind cannot be changed so, the build goes on without, and the system's is used.
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
