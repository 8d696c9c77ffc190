# Our training job (needs nvcc), the demo, the bundle for a machine without our libraries, and the GPU checks.
NVCC ?= $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
NVCC_FLAGS ?= -O2 -std=c++17 -lineinfo -cudart static -gencode arch=compute_90,code=sm_90 \
	-gencode arch=compute_75,code=compute_75 -Xcompiler -Wall,-Wextra,-Werror,-static-libstdc++,-static-libgcc -Werror all-warnings
KERNELS := $(if $(NVCC),$(patsubst kernels/%.cu,$(BUILD)/kernels/%,$(wildcard kernels/*.cu)))
CUPTI_INCLUDE ?= $(patsubst %/cupti.h,%,$(firstword $(wildcard /usr/local/cuda/include/cupti.h \
	/usr/local/cuda/extras/CUPTI/include/cupti.h)))
GPU_TOOLS := $(BUILD)/gpu/control_level $(BUILD)/gpu/libtold_trackers.so $(if $(CUPTI_INCLUDE),$(BUILD)/gpu/libcupti_count.so) \
	$(if $(CUDA_INCLUDE),$(BUILD)/gpu/launch_cost $(BUILD)/gpu/libsleeping_pool.so)

kernels: $(KERNELS) ## build the CUDA training job (with nvcc)
	@$(if $(NVCC),:,echo "kernels: no nvcc here: skipped")
$(BUILD)/kernels/%: kernels/%.cu $(wildcard kernels/*.cuh)
	@mkdir -p $(@D)
	$(SAY_LD)$(NVCC) $(NVCC_FLAGS) -o $@ $<

$(BUILD)/gpu/control_level: tests/gpu/control_level.c tests/gpu/control_page.h libgpuprof/format/layout.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -o $@ $<
$(BUILD)/gpu/launch_cost: tests/gpu/launch_cost.c tests/gpu/control_page.h libgpuprof/format/layout.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -isystem $(CUDA_INCLUDE) -o $@ $< -lpthread -ldl
$(BUILD)/gpu/libsleeping_pool.so: tests/gpu/sleeping_pool.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -isystem $(CUDA_INCLUDE) -fPIC -shared -o $@ $< -ldl
$(BUILD)/gpu/libtold_trackers.so: tests/gpu/told_trackers.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -o $@ $< -ldl
$(BUILD)/gpu/libcupti_count.so: tests/gpu/cupti_count.c
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -isystem $(CUPTI_INCLUDE) $(addprefix -isystem ,$(CUDA_INCLUDE)) -fPIC -shared -o $@ $< -lpthread -ldl

demo: all kernels $(BUILD)/victims/training_loop $(BUILD)/fake/libc10.so ## record a training job (on the GPU where there is one) and plot its memory
	BUILD=$(BUILD) kernels/demo.sh

check-gpu: all kernels $(GPU_TOOLS) ## compare recordings with what a real GPU, PyTorch and CUPTI say (sections: SECTIONS="eager graph")
	BUILD=$(BUILD) tests/gpu/check_gpu.sh $(SECTIONS)

# All files for a machine with a GPU, but without our libraries and compilers.
bundle: all kernels $(GPU_TOOLS) $(VICTIMS) $(UNIT) $(BENCH) $(BUILD)/fake/libc10.so ## gather the build with every library it needs in $(BUILD)/bundle
	BUILD=$(BUILD) kernels/bundle.sh

.PHONY: kernels demo check-gpu bundle
