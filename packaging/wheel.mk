# A wheel for pip, in $(BUILD)/wheel. Its tag has the glibc that it needs, at most the one of this machine.
# portable-wheel builds it in a root of an older Debian, for manylinux_2_28.
PORTABLE_ROOT ?= bullseye
# Linked again, since pip puts the libraries into lib/gpuprof beside bin. With DT_RPATH they also find each other.
$(BUILD)/wheel/gpuprof: $(TOOL_OBJ) $(BUILD)/libgpuprof-read.a
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(SAN) $(LDFLAGS) -o $@ $(TOOL_OBJ) $(BUILD)/libgpuprof-read.a $(TOOL_LIBS) \
		-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib/gpuprof'
# the reading library, which the Python module loads from there
$(BUILD)/wheel/$(notdir $(READ_SO)): $(BUILD)/libgpuprof-read.a $(BUILD)/read.map
	@mkdir -p $(@D)
	$(SAY_LD)$(READ_LINK) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'
wheel: all $(BUILD)/wheel/gpuprof $(BUILD)/wheel/$(notdir $(READ_SO)) $(MAN1) ## pack a wheel for pip, in $(BUILD)/wheel
	@rm -f $(BUILD)/wheel/*.whl
	@packaging/wheel.py $(VERSION) $(BUILD) $(UNWIND) $(foreach l,libzstd.a libiberty.a $(SQLITE_LIB:-l:%=%),$(filter /%,$(shell $(CC) -print-file-name=$l)))
portable-wheel: ## build that wheel for manylinux_2_28: needs root, mmdebstrap and a network
	@packaging/portable_wheel.sh $(BUILD) $(PORTABLE_ROOT)

.PHONY: wheel portable-wheel
