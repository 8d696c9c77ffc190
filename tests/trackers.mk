# Packages as PyTorch's, for tier B: the fake caching allocator, and beside it libraries with an allocator object that
# takes trace trackers. In C++, where there is a compiler for it.
#   torch-2.11  as it is today          torch-2.6   entries without a pool, older names
#   torch-9.0   newer than is known     torch-part  the table of functions is missing
ifneq ($(shell command -v $(CXX)),)
TRACKERS := $(foreach p,torch-2.11 torch-2.6 torch-9.0 torch-part,$(BUILD)/fake/$p/version.py)
FAKE_CXX := $(CXX) -std=c++17 $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,relro,-z,now
FAKE_HH  := tests/fake/fake_torch.hh tests/fake/fake_trace.h tests/trackers.mk

$(BUILD)/fake/trackers/%.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(FAKE_CXX) -o $@ $<
$(BUILD)/fake/trackers/%_old.so: tests/fake/fake_%.cc $(FAKE_HH)
	@mkdir -p $(@D)
	$(FAKE_CXX) -DFAKE_TORCH_OLD -o $@ $<

$(BUILD)/fake/torch-%/version.py: $(foreach l,c10_cuda torch_cuda,$(BUILD)/fake/trackers/$l.so $(BUILD)/fake/trackers/$l_old.so) \
	$(BUILD)/fake/libc10.so
	@mkdir -p $(@D)/lib
	@ln -sf ../../libc10.so $(@D)/lib/libc10.so
	@ln -sf ../../trackers/c10_cuda$(if $(filter 2.6,$*),_old).so $(@D)/lib/libc10_cuda.so
	$(if $(filter part,$*),,@ln -sf ../../trackers/torch_cuda$(if $(filter 2.6,$*),_old).so $(@D)/lib/libtorch_cuda.so)
	@echo "__version__ = '$(if $(filter part,$*),2.11,$*).0+fake'" >$@
tests check check-victims check-cli bless: $(TRACKERS)
endif
