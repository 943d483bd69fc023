# SPDX-License-Identifier: MIT
#
# Packages: made of what `make dist` writes, as a distribution would, and not of the files of this tree. HOST_ARCH=arm64
# builds for that architecture by a cross compiler, whose packages and libraries are installed already.

DIST_NAME := rdmaemu-$(VERSION)
DIST	  := $(BUILD)/$(DIST_NAME).tar.gz

# git writes the files of a commit with the commit's date: the same bytes each time.
.PHONY: dist
dist: ## write the files of the last commit to build/rdmaemu-VERSION.tar.gz
	@mkdir -p $(BUILD)
	@git diff --quiet HEAD || echo "dist: changes that are not committed are left out" >&2
	$(Q)git -c tar.tar.gz.command='gzip -9cn' archive --format=tar.gz --prefix=$(DIST_NAME)/ -o $(DIST) HEAD
	$(call say,DIST,$(DIST))

.PHONY: deb
deb: dist ## install what is missing, and build Debian's packages of the last commit in build/deb; HOST_ARCH=arm64
	@$(if $(NO_DEPS)$(HOST_ARCH),:,tests/deps.sh deb)
	@env -u BUILD -u MAKEFLAGS -u MFLAGS packaging/deb.sh $(DIST) $(BUILD)/deb $(HOST_ARCH)

.PHONY: rpm
rpm: dist ## install what is missing, and build RPM packages of the last commit in build/rpm
	@$(if $(NO_DEPS),:,tests/deps.sh rpm)
	@env -u BUILD -u MAKEFLAGS -u MFLAGS packaging/rpm.sh $(DIST) $(BUILD)/rpm

# What other projects' CI takes from packaging/, on bare roots; needs root, mmdebstrap and npm.
.PHONY: check-ci
check-ci: ## run the GitHub action and the GitLab template of packaging/ as their runners would
	@tests/ci/run

SBOM := $(BUILD)/rdmaemu.spdx.json
.PHONY: sbom
sbom: all ## write the packages of which libraries are linked to build/rdmaemu.spdx.json
	$(call say,SBOM,$(SBOM))
	$(Q)python3 packaging/sbom.py $(VERSION) $(BIN) $(REPLAY) $(LIB) $(TAP) $(DISPATCH) $(CTL_SO) >$(SBOM).new && \
		mv $(SBOM).new $(SBOM)

.PHONY: check-packages check-reproducible check-rpm
check-packages: ## build, install, use and purge packages on bare roots of Debian SUITES=; needs root and mmdebstrap
	@HOST_ARCH=$(HOST_ARCH) tests/packages.sh $(SUITES)

check-reproducible: dist ## build the packages twice, elsewhere, at other dates, and compare their bytes
	@$(if $(NO_DEPS)$(HOST_ARCH),:,tests/deps.sh deb)
	@env -u BUILD -u MAKEFLAGS -u MFLAGS packaging/reproducible.sh $(DIST) $(HOST_ARCH)

check-rpm: dist ## build RPM packages, let rpmlint check them, and compare their files with those of Debian's
	@$(if $(NO_DEPS),:,tests/deps.sh deb rpm)
	@rm -rf $(BUILD)/check-rpm
	@env -u BUILD -u MAKEFLAGS -u MFLAGS tests/rpm.sh $(DIST) $(BUILD)/check-rpm
