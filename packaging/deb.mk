# A Debian package, $(BUILD)/deb/gpuprof_VERSION_amd64.deb, of the committed sources or of a release. It needs
# build-essential, debhelper and the build dependencies in packaging/debian/control.
IS_COMMITTED := $(wildcard .git)
DEB_MAINTAINER ?= $(if $(IS_COMMITTED),$(shell git log -1 --format='%an <%ae>'),$(DEBFULLNAME) <$(DEBEMAIL)>)
DEB_DATE = $(if $(IS_COMMITTED),git log -1 --format=%aD,date -R -r CHANGELOG.md)
DEB_SOURCES = $(if $(IS_COMMITTED),git archive HEAD,tar -c --exclude=./$(BUILD) .)
DEB_TREE = $(BUILD)/deb/gpuprof-$(VERSION)
deb: ## build a Debian package, in $(BUILD)/deb
	@case '$(DEB_MAINTAINER)' in ' <>') echo "deb: set DEB_MAINTAINER='Name <address>'" >&2; exit 1;; esac
	@rm -rf $(BUILD)/deb && mkdir -p $(DEB_TREE)
	@$(DEB_SOURCES) | tar -x -C $(DEB_TREE)
	@cp -r packaging/debian $(DEB_TREE)/debian && sed -i 's/@MAINTAINER@/$(DEB_MAINTAINER)/' $(DEB_TREE)/debian/control
	@{ echo 'gpuprof ($(VERSION)) unstable; urgency=medium'; echo; \
		sed -n '/^## $(VERSION)/,/^## /{s/^- /  * /p; s/^  [^*]/  &/p}' CHANGELOG.md | fmt -t -w 78; echo; \
		echo " -- $(DEB_MAINTAINER)  $$($(DEB_DATE))"; } >$(DEB_TREE)/debian/changelog
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc

.PHONY: deb
