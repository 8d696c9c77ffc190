# gpuprof: `make help` lists the targets. Everything is built in $(BUILD).

# Installs packages first, for any order of the goals and any -j. The rest of this file looks for compilers and
# libraries when it is read. So with `deps` among the goals, the other goals run in a second make, after `deps`.
OTHER_GOALS := $(filter-out deps,$(MAKECMDGOALS))
# for a make within a make: all cores, unless the caller set a number of jobs
ALL_CORES = $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc))
.PHONY: deps
deps: ## install the missing packages (Debian, Ubuntu): make deps demo, make deps check
	@lint/deps.sh
ifneq ($(and $(filter deps,$(MAKECMDGOALS)),$(OTHER_GOALS)),)
.PHONY: $(OTHER_GOALS) goals_after_deps
$(OTHER_GOALS): goals_after_deps ; @:
goals_after_deps: deps
	@$(MAKE) --no-print-directory $(ALL_CORES) $(OTHER_GOALS)
else

BUILD  ?= build
ifeq ($(origin CC),default)
CC     := gcc
endif
PREFIX ?= /usr/local
SAN    ?=
# a warning of a newer compiler must not end the build of a release
WERROR ?= $(if $(wildcard .git),-Werror)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wstrict-prototypes -Wvla $(WERROR)
CFLAGS ?= -O2 -g
BASE := -std=c17 -D_GNU_SOURCE $(WARN) -fno-strict-aliasing -MMD -MP $(CPPFLAGS) $(CFLAGS) $(SAN)
# Short lines; V=1 prints the commands.
Q := $(if $(V),,@)
SAY_CC = $(if $(V),,@echo "  CC    $@";)
SAY_LD = $(if $(V),,@echo "  LD    $@";)
SAY_AR = $(if $(V),,@echo "  AR    $@";)
SAY_GEN = $(if $(V),,@echo "  GEN   $@";)
# Written when the flags change: objects and programs depend on it.
FLAGS := $(BUILD)/flags
IS_DRY := $(findstring n,$(firstword -$(MAKEFLAGS)))
ifneq ($(or $(IS_DRY),$(CC) $(BASE) $(LDFLAGS)),$(or $(IS_DRY),$(if $(wildcard $(FLAGS)),$(file <$(FLAGS)))))
$(shell mkdir -p $(BUILD))
$(file >$(FLAGS),$(CC) $(BASE) $(LDFLAGS))
endif
CUDA_INCLUDE ?= $(firstword $(wildcard /usr/local/cuda/include))
CUDA_CHECK := $(if $(CUDA_INCLUDE),-DGP_HAVE_CUDA_HEADERS -isystem $(CUDA_INCLUDE))

# the C files of a room and its sub-rooms
sources = $(foreach room,$(1),$(wildcard $(room)/*.c $(room)/*/*.c))

# The preload object: libc only, hidden by default, zstd inside.
PRELOAD_SRC := $(filter-out interpose/cupti/% interpose/counters/%,$(call sources,interpose $(addprefix libgpuprof/,record format state))) $(wildcard interpose/*/*.S)
PRELOAD_OBJ := $(patsubst %,$(BUILD)/preload/%.o,$(PRELOAD_SRC))
PRELOAD_FLAGS := $(BASE) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition -DGP_PRELOAD \
	-include libgpuprof/record/process/glibc_floor.h $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-mprfchw)
# before glibc 2.34 these two have functions that are now in libc; the object must need them even if unused here
PRELOAD_LIBS ?= -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0
ZSTD_STATIC ?= -l:libzstd.a

# The reading library and the program.
READ_SRC := $(call sources,$(addprefix libgpuprof/,format state read analyze))
READ_OBJ := $(patsubst %,$(BUILD)/read/%.o,$(READ_SRC))
# Libraries of the reading library, never of the preload object. libdw reads debug information, liblzma and zlib (which
# libdw also needs) its files, and zlib packs pages; libiberty demangles names.
READ_LIBS := $(ZSTD_STATIC) -ldw -lelf -llzma -lz -l:libiberty.a -lm -ldl -lpthread
# Of the program alone: exports as databases. Static, so that packages need no further library; else shared.
SQLITE_LIB := $(if $(filter /%,$(shell $(CC) -print-file-name=libsqlite3.a)),-l:libsqlite3.a,-lsqlite3)
TOOL_LIBS := $(SQLITE_LIB) $(READ_LIBS)
TOOL_SRC := $(sort $(call sources,tools tools/export)) $(wildcard tools/*/*.S)
TOOL_OBJ := $(patsubst %,$(BUILD)/tool/%.o,$(TOOL_SRC)) $(BUILD)/tool/commands.o $(BUILD)/tool/formats.o \
	$(BUILD)/tool/exports.o
COMMANDS := $(patsubst tools/cmd_%.c,%,$(wildcard tools/cmd_*.c))
FORMATS  := $(patsubst tools/timeline/out_%.c,%,$(wildcard tools/timeline/out_*.c))
EXPORTS  := $(patsubst tools/export/export_%.c,%,$(wildcard tools/export/export_*.c))
# the recorder without interposed functions, for unit tests and bench
RECORD_OBJ := $(patsubst %,$(BUILD)/read/%.o,$(call sources,libgpuprof/record))

UNIT     := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
VICTIMS  := $(patsubst tests/victims/%.c,$(BUILD)/victims/%,$(wildcard tests/victims/*.c))

all: $(BUILD)/libgpuprof.so $(BUILD)/gpuprof $(BUILD)/fake/libcuda.so.1 ## build the library, the program and the fake driver

$(BUILD)/libgpuprof.so: $(PRELOAD_OBJ) interpose/exports.map Makefile
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(SAN) $(LDFLAGS) -shared -o $@ $(PRELOAD_OBJ) $(ZSTD_STATIC) -Wl,--version-script=interpose/exports.map -Wl,--exclude-libs,ALL \
		-Wl,-z,relro,-z,now,-z,nodelete,-soname,libgpuprof.so -Wl,--no-undefined -Wl,--as-needed $(PRELOAD_LIBS)
$(BUILD)/preload/%.c.o: %.c Makefile $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(PRELOAD_FLAGS) $(CUDA_CHECK) -c -o $@ $<
$(BUILD)/preload/%.S.o: %.S $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/libgpuprof-read.a: $(READ_OBJ)
	@rm -f $@
	$(SAY_AR)$(AR) rcs $@ $(READ_OBJ)
$(BUILD)/read/%.c.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(BASE) -fPIC -c -o $@ $<
$(BUILD)/tool/%.c.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(BASE) -Ilibgpuprof -c -o $@ $<
$(BUILD)/tool/%.S.o: %.S $(wildcard page/dist/*) $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(CFLAGS) -c -o $@ $<
# the list of commands comes from the files, so a new tools/cmd_x.c needs no other change
$(BUILD)/tool/commands.c: $(wildcard tools/cmd_*.c) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "command.h"'; for c in $(COMMANDS); do echo "extern const struct gp_command gp_command_$$c;"; done; \
	  echo 'const struct gp_command *const gp_commands[] = {'; for c in $(COMMANDS); do echo "	&gp_command_$$c,"; done; echo '	0};'; } >$@
$(BUILD)/tool/formats.c: $(wildcard tools/timeline/out_*.c) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "timeline/chart.h"'; for f in $(FORMATS); do echo "extern const struct gp_format gp_format_$$f;"; done; \
	  echo 'const struct gp_format *const gp_formats[] = {'; for f in $(FORMATS); do echo "	&gp_format_$$f,"; done; echo '	0};'; } >$@
$(BUILD)/tool/exports.c: $(wildcard tools/export/export_*.c) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "export/write/export.h"'; for f in $(EXPORTS); do echo "extern const struct gp_export_format gp_export_format_$$f;"; done; \
	  echo 'const struct gp_export_format *const gp_export_formats[] = {'; for f in $(EXPORTS); do echo "	&gp_export_format_$$f,"; done; echo '	0};'; } >$@
$(BUILD)/tool/%.o: $(BUILD)/tool/%.c $(FLAGS)
	$(SAY_CC)$(CC) $(BASE) -Itools -Ilibgpuprof -c -o $@ $<
$(BUILD)/gpuprof: $(TOOL_OBJ) $(BUILD)/libgpuprof-read.a
	$(SAY_LD)$(CC) $(SAN) $(LDFLAGS) -o $@ $(TOOL_OBJ) $(BUILD)/libgpuprof-read.a $(TOOL_LIBS) -Wl,-rpath,'$$ORIGIN/lib'

$(BUILD)/fake/libcuda.so.1: tests/fake/fake_cuda.c interpose/driver/cuda_api.def interpose/driver/cuda_copies.def interpose/driver/cuda_types.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $< -lpthread -ldl
$(BUILD)/fake/libc10.so: tests/fake/fake_c10.c tests/fake/fake_blocks.h
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) -fPIC -shared -Wl,-soname,libc10.so -o $@ $< -lpthread -ldl

# in the bundle, cmocka is in lib/, and so is one zstd for all tests
UNIT_LIBS := -lcmocka -lpthread -ldl -lm -Wl,-rpath,'$$ORIGIN/../lib'
# To optimize a unit test takes longer than to run it, except of those with long loops of their own. Where threads race
# or frames are walked, the inlined code of the hooks stays as users have it.
UNIT_LONG  := $(patsubst %,tests/unit/test_%.c,arena_table frag frag_curve growth_jobs leak_trend leaks live_random lives)
UNIT_QUICK := $(filter-out $(UNIT_LONG),$(shell grep -LE 'pthread_create|native|include ".*[.]c"' tests/unit/test_*.c))
$(UNIT_QUICK:tests/unit/%.c=$(BUILD)/unit/%.o): UNIT_FLAGS := -O0 -U_FORTIFY_SOURCE -Wno-format-truncation
$(BUILD)/unit/%.o: tests/unit/%.c $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_CC)$(CC) $(BASE) $(CUDA_CHECK) $(UNIT_FLAGS) -Ilibgpuprof -c -o $@ $<
$(BUILD)/unit/%: $(BUILD)/unit/%.o $(BUILD)/libgpuprof-read.a $(RECORD_OBJ)
	$(SAY_LD)$(CC) $(SAN) $(LDFLAGS) -o $@ $< $(RECORD_OBJ) $(BUILD)/libgpuprof-read.a $(subst $(ZSTD_STATIC),-lzstd,$(READ_LIBS)) $(UNIT_LIBS)
$(BUILD)/victims/%: tests/victims/%.c $(FLAGS)
	@mkdir -p $(@D)
	$(SAY_LD)$(CC) $(BASE) $(CUDA_CHECK) -o $@ $< -lpthread -ldl

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 - /p' $(MAKEFILE_LIST) | sort

dist: ## pack the committed sources as $(BUILD)/gpuprof-VERSION.tar.gz
	@mkdir -p $(BUILD)
	@version=$$(sed -n 's/^#define GP_VERSION "\(.*\)"/\1/p' libgpuprof/gpuprof.h) && \
	git archive --prefix=gpuprof-$$version/ -o $(BUILD)/gpuprof-$$version.tar.gz HEAD && echo $(BUILD)/gpuprof-$$version.tar.gz

.PHONY: all help clean dist
clean: ## remove $(BUILD)
	rm -rf $(BUILD)

# the makefiles of rooms
include $(wildcard */*.mk)
-include $(shell find $(BUILD) -path $(BUILD)/run -prune -o -name '*.d' -print 2>/dev/null)
.DEFAULT_GOAL := all
.SECONDARY:
endif
