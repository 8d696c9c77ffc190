# A Debian package of the committed sources: $(BUILD)/deb/gpuprof_VERSION_amd64.deb. Needs dpkg-dev and debhelper.
DEB_MAINTAINER ?= $(shell git log -1 --format='%an <%ae>')
DEB_TREE = $(BUILD)/deb/gpuprof-$(VERSION)
deb: ## build a Debian package of the committed sources, in $(BUILD)/deb
	@rm -rf $(BUILD)/deb && mkdir -p $(DEB_TREE)
	@git archive HEAD | tar -x -C $(DEB_TREE)
	@cp -r packaging/debian $(DEB_TREE)/debian && sed -i 's/@MAINTAINER@/$(DEB_MAINTAINER)/' $(DEB_TREE)/debian/control
	@{ echo 'gpuprof ($(VERSION)) unstable; urgency=medium'; echo; \
		sed -n '/^## $(VERSION)/,/^## /{s/^- /  * /p; s/^  [^*]/  &/p}' CHANGELOG.md | fmt -t -w 78; echo; \
		echo " -- $(DEB_MAINTAINER)  $$(git log -1 --format=%aD)"; } >$(DEB_TREE)/debian/changelog
	cd $(DEB_TREE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc

.PHONY: deb
