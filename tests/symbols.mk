# Libraries whose addresses tests/unit/test_symbolize.c looks up: one source, built and stripped in all usual ways.
SYMBOLS := $(BUILD)/symbols
PLACES := $(addprefix $(SYMBOLS)/libplaces,.so _plain.so _stripped.so _linked.so _rebuilt.so _unlisted.so _pieces.so _packed.so _shared.so) $(SYMBOLS)/debug/made $(SYMBOLS)/wrong/made $(SYMBOLS)/other/libplaces_linked.so
PLACES_CC = $(CC) -std=gnu17 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fno-optimize-sibling-calls
PLACES_SRC := tests/symbols/places.c tests/symbols/places.h tests/symbols.mk
ifneq ($(shell command -v xz),)
PLACES += $(SYMBOLS)/libplaces_mini.so
endif
ifneq ($(shell command -v $(CXX)),)
PLACES += $(SYMBOLS)/libplaces_cxx.so
endif

$(SYMBOLS)/libplaces.so: $(PLACES_SRC)
	@mkdir -p $(@D)
	$(SAY_LD)$(PLACES_CC) -Wl,--build-id=sha1 -o $@ $<
$(SYMBOLS)/libplaces_rebuilt.so: $(PLACES_SRC)
	@mkdir -p $(@D)
	$(SAY_LD)$(PLACES_CC) -Wl,--build-id=sha1 -DREBUILT -o $@ $<
$(SYMBOLS)/libplaces_packed.so: $(PLACES_SRC)
	@mkdir -p $(@D)
	$(SAY_LD)$(PLACES_CC) -Wl,--build-id=sha1 -gdwarf-4 -gz=zlib -o $@ $<
$(SYMBOLS)/libplaces_cxx.so: tests/symbols/places.cc tests/symbols/places.h tests/symbols.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Werror -fPIC -shared -fno-optimize-sibling-calls -Wl,--build-id=sha1 -o $@ $<
$(SYMBOLS)/libplaces_plain.so: $(SYMBOLS)/libplaces.so
	$(SAY_GEN)strip --strip-debug -o $@ $<
$(SYMBOLS)/libplaces_stripped.so: $(SYMBOLS)/libplaces.so
	$(SAY_GEN)strip --strip-all -o $@ $<
# it refers to shared debug information in libplaces.so, as dwz writes it
$(SYMBOLS)/libplaces_shared.so: $(SYMBOLS)/libplaces_packed.so $(SYMBOLS)/libplaces.so
	$(SAY_GEN)objcopy -O binary --only-section=.note.gnu.build-id $(SYMBOLS)/libplaces.so $@.id
	$(Q){ printf '/nonexistent/shared\0'; tail -c 20 $@.id; } >$@.link
	$(Q)objcopy --add-section .gnu_debugaltlink=$@.link $< $@
# as clang writes it
$(SYMBOLS)/libplaces_unlisted.so: $(SYMBOLS)/libplaces.so
	$(SAY_GEN)objcopy --remove-section .debug_aranges $< $@
# one section for each function: the addresses are between 4200 other pieces of their unit
$(SYMBOLS)/libplaces_pieces.so: $(PLACES_SRC)
	@mkdir -p $(@D)
	$(SAY_LD){ seq -f 'int piece_%g(int x) { return x; }' 4200; echo '#include "places.c"'; seq -f 'int piece_%g(int x) { return x; }' 4201 8400; } | \
	$(PLACES_CC) -ffunction-sections -Wl,--build-id=sha1 -Itests/symbols -o $@ -x c -
# no build id: only the CRC of .gnu_debuglink identifies the debug file
$(SYMBOLS)/libplaces_linked.so: $(PLACES_SRC)
	@mkdir -p $(@D)
	$(SAY_LD)$(PLACES_CC) -Wl,--build-id=none -o $@.whole $<
	$(Q)objcopy --only-keep-debug $@.whole $@.debug
	$(Q)strip --strip-all -o $@ $@.whole
	$(Q)objcopy --add-gnu-debuglink=$@.debug $@
# a debug file with another checksum beside it
$(SYMBOLS)/other/libplaces_linked.so: $(SYMBOLS)/libplaces_linked.so
	@mkdir -p $(@D)
	$(Q)cp $<.debug $@.debug && echo >>$@.debug
	$(Q)cp $< $@
# debug files by build id, as distributions install them
$(SYMBOLS)/debug/made: $(SYMBOLS)/libplaces.so
	@rm -rf $(@D)
	$(SAY_GEN)id=$$(readelf -n $< | sed -n 's/.*Build ID: //p') && folder=$(@D)/.build-id/$$(echo $$id | cut -c 1-2) && mkdir -p $$folder && \
	objcopy --only-keep-debug $< $$folder/$$(echo $$id | cut -c 3-).debug
	@touch $@
# the debug file of another build under this library's id
$(SYMBOLS)/wrong/made: $(SYMBOLS)/libplaces.so $(SYMBOLS)/libplaces_rebuilt.so
	@rm -rf $(@D)
	$(SAY_GEN)id=$$(readelf -n $< | sed -n 's/.*Build ID: //p') && folder=$(@D)/.build-id/$$(echo $$id | cut -c 1-2) && mkdir -p $$folder && \
	objcopy --only-keep-debug $(SYMBOLS)/libplaces_rebuilt.so $$folder/$$(echo $$id | cut -c 3-).debug
	@touch $@
$(SYMBOLS)/libplaces_mini.so: $(SYMBOLS)/libplaces.so
	$(SAY_GEN)objcopy --only-keep-debug $< $@.debug
	$(Q)strip --strip-debug --remove-section .comment $@.debug
	$(Q)xz --keep --force $@.debug
	$(Q)strip --strip-all -o $@ $<
	$(Q)objcopy --add-section .gnu_debugdata=$@.debug.xz $@

SYMBOL_TESTS := $(addprefix $(BUILD)/unit/test_,symbolize symbolize_damage demangle stored_names damaged_names)
$(SYMBOL_TESTS): $(PLACES)
