# Our own copy of libunwind, beside the preload object: the system's with two changes of equal length. Another name
# inside, so that the loader never hands it to a program that asks for libunwind, nor the program's to us; and
# DT_SYMBOLIC in the place of DT_RELACOUNT, which is a hint, so that its functions call each other and not those of a
# program that has libunwind in its global scope. A copy that did not become this is left out: the system's is used.
UNWIND := $(wildcard $(shell $(CC) -print-file-name=libunwind.so.8))
ifneq ($(UNWIND),)
$(BUILD)/libgpuprof-unwind.so: $(UNWIND)
	@mkdir -p $(@D)
	$(SAY_GEN)LC_ALL=C sed -e 's/libunwind\.so\.8/libgpunwind.so/' \
		-e 's/\xf9\xff\xff\x6f\x00\x00\x00\x00/\x10\x00\x00\x00\x00\x00\x00\x00/' $< >$@.part
	@readelf -dW $@.part | grep -q SYMBOLIC && readelf -dW $@.part | grep -q libgpunwind.so || rm -f $@.part
	@[ ! -f $@.part ] || { chmod 755 $@.part && mv $@.part $@; }
all: $(BUILD)/libgpuprof-unwind.so
endif
