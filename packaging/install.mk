# The installed files: the program, the preload object, the reading library with its headers, manual pages, completion.
# PREFIX, LIBDIR, MANDIR and DESTDIR have their usual meaning.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/gpuprof
PYTHONDIR ?= $(PREFIX)/lib/python3/dist-packages
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
VERSION := $(shell sed -n 's/^\#define GP_VERSION "\(.*\)"/\1/p' libgpuprof/gpuprof.h)
GO_MD2MAN := $(shell command -v go-md2man 2>/dev/null)

# The reading library for other programs. It exports only the functions and tables that the public headers declare.
READ_SO := $(BUILD)/libgpuprof-read.so.0
HEADERS  = $(sort $(filter %.h %.def,$(shell $(CC) -std=c17 -MM -Ilibgpuprof $(wildcard libgpuprof/gpuprof*.h) | tr -d '\\')))
$(BUILD)/read.map: $(BUILD)/libgpuprof-read.a $(wildcard libgpuprof/*.h)
	$(SAY_GEN){ echo '{ global:'; cat $(HEADERS) | grep -oE '\bgp_[a-z0-9_]*(\(|\[.*\];)' | sed 's/[[(].*//' | sort -u | sed 's/$$/;/'; \
		echo 'local: *; };'; } >$@
READ_LINK = $(CC) $(SAN) $(LDFLAGS) -shared -o $@ -Wl,-soname,$(@F),--version-script=$(BUILD)/read.map,-z,relro,-z,now,--no-undefined \
		-Wl,--whole-archive $(BUILD)/libgpuprof-read.a -Wl,--no-whole-archive -Wl,--exclude-libs,libzstd.a:libiberty.a $(READ_LIBS)
$(READ_SO): $(BUILD)/libgpuprof-read.a $(BUILD)/read.map
	$(SAY_LD)$(READ_LINK)

# what programs that load the reading library rely on; tests/run_reading.sh compares it
abi: $(READ_SO) ## write packaging/reading_abi.txt, after a change of the interface on purpose
	$(SAY_GEN)python3 tests/reading/list_abi.py $(BUILD) $(notdir $(wildcard libgpuprof/gpuprof*.h)) >packaging/reading_abi.txt

# Converts the title to the form of man(1), and links to the names of pages and files.
MAN1 := $(if $(GO_MD2MAN),$(patsubst docs/man/%.md,$(BUILD)/man/%,$(wildcard docs/man/*.1.md)))
$(BUILD)/man/%.1: docs/man/%.1.md packaging/wrap_tables.awk
	@mkdir -p $(@D)
	$(SAY_GEN)sed -e '1s/.*/% "$*" "1" "" "gpuprof $(VERSION)" "gpuprof manual"/' \
		-e 's/\[[^]]*\](\(gpuprof[-a-z]*\)\.1\.md)/\1(1)/g; s/\[\([^]]*\)\](\.\.[^)]*)/\1/g' $< | $(GO_MD2MAN) | awk -f packaging/wrap_tables.awk >$@

install: all $(READ_SO) $(MAN1) ## copy program, libraries, headers, manual pages and completion to $(DESTDIR)$(PREFIX)
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBDIR)/gpuprof $(LIBDIR)/pkgconfig $(PREFIX)/include/gpuprof/format $(MANDIR)/man1 \
		$(DOCDIR) $(ZSHDIR) $(PYTHONDIR)/gpuprof $(PREFIX)/share/bash-completion/completions)
	install -m 755 $(BUILD)/gpuprof $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/libgpuprof.so $(READ_SO) $(DESTDIR)$(LIBDIR)
	$(if $(UNWIND),[ ! -f $(BUILD)/libgpuprof-unwind.so ] || install -m 755 $(BUILD)/libgpuprof-unwind.so $(DESTDIR)$(LIBDIR)/gpuprof)
	[ ! -f $(BUILD)/libgpuprof-cupti.so ] || install -m 755 $(BUILD)/libgpuprof-cupti.so $(DESTDIR)$(LIBDIR)/gpuprof
	ln -sf $(notdir $(READ_SO)) $(DESTDIR)$(LIBDIR)/libgpuprof-read.so
	for h in $(HEADERS:libgpuprof/%=%); do install -m 644 libgpuprof/$$h $(DESTDIR)$(PREFIX)/include/gpuprof/$$h || exit 1; done
	install -m 644 python/gpuprof/*.py $(DESTDIR)$(PYTHONDIR)/gpuprof
	sed -e 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' packaging/gpuprof.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/gpuprof.pc
	$(if $(MAN1),install -m 644 $(MAN1) $(DESTDIR)$(MANDIR)/man1,@echo "install: without manual pages: go-md2man is missing")
	install -m 644 packaging/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gpuprof
	install -m 644 packaging/completion.zsh $(DESTDIR)$(ZSHDIR)/_gpuprof
	install -m 644 README.md LICENSE CHANGELOG.md docs/*.md $(DESTDIR)$(DOCDIR)
uninstall: ## remove what install copied
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/gpuprof $(addprefix $(LIBDIR)/libgpuprof,.so -read.so -read.so.0) \
		$(LIBDIR)/pkgconfig/gpuprof.pc $(MANDIR)/man1/gpuprof.1 $(patsubst docs/man/%.md,$(MANDIR)/man1/%,$(wildcard docs/man/*.1.md)) \
		$(PREFIX)/share/bash-completion/completions/gpuprof $(ZSHDIR)/_gpuprof)
	rm -rf $(addprefix $(DESTDIR),$(LIBDIR)/gpuprof $(PREFIX)/include/gpuprof $(PYTHONDIR)/gpuprof $(DOCDIR))

.PHONY: install uninstall abi
