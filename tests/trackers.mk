# Packages like PyTorch's, for allocator details: the fake caching allocator, and libraries with an allocator object
# that takes trace trackers. They are in C++, if there is a compiler for it.
#   torch-2.11  the newest supported    torch-2.6   entries without a pool, older names
#   torch-9.0   newer than supported    torch-part  the table of functions is missing
#   torch-2.10  looks built with libc++, by its names
#   torch-2.9   linked without relro: its tables can be written
ifneq ($(shell command -v $(CXX)),)
TRACKERS := $(foreach p,torch-2.11 torch-2.10 torch-2.9 torch-2.6 torch-9.0 torch-part,$(BUILD)/fake/$p/version.py)
FAKE_CXX := $(CXX) -std=c++17 $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,relro,-z,now
FAKE_HH  := tests/fake/fake_torch.hh tests/fake/fake_trace.h tests/trackers.mk

$(BUILD)/fake/trackers/%.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(SAY_LD)$(FAKE_CXX) -o $@ $<
$(BUILD)/fake/trackers/%_old.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(SAY_LD)$(FAKE_CXX) -DFAKE_TORCH_OLD -o $@ $<

$(BUILD)/fake/trackers/%_norelro.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(SAY_LD)$(FAKE_CXX) -DFAKE_TORCH_OF_POOL -Wl,-z,norelro -o $@ $<

$(BUILD)/fake/trackers/%_libcxx.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(SAY_LD)$(FAKE_CXX) -DFAKE_TORCH_LIBCXX -o $@ $<

$(BUILD)/fake/torch-%/version.py: variant = $(if $(filter 2.6,$*),_old)$(if $(filter 2.9,$*),_norelro)$(if $(filter 2.10,$*),_libcxx)
$(BUILD)/fake/torch-%/version.py: $(foreach l,c10_cuda torch_cuda,$(foreach k,.so _old.so _norelro.so _libcxx.so,$(BUILD)/fake/trackers/$l$k)) \
	$(BUILD)/fake/libc10.so
	@mkdir -p $(@D)/lib
	@ln -sf ../../libc10.so $(@D)/lib/libc10.so
	@ln -sf ../../trackers/c10_cuda$(variant).so $(@D)/lib/libc10_cuda.so
	$(if $(filter part,$*),,@ln -sf ../../trackers/torch_cuda$(variant).so $(@D)/lib/libtorch_cuda.so)
	@echo "__version__ = '$(if $(filter part,$*),2.11,$*).0+fake'" >$@
$(BUILD)/fake/libtorch_cpu_ranges.so: tests/fake/fake_ranges.cc tests/fake/fake_ranges.h tests/trackers.mk
	@mkdir -p $(@D)
	$(SAY_LD)$(FAKE_CXX) -Wl,-soname,$(@F) -o $@ $<
tests check-victims check-cli bless: $(TRACKERS) $(BUILD)/fake/libtorch_cpu_ranges.so
endif
