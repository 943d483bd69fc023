# SPDX-License-Identifier: MIT
#
# arm64, on a machine of another kind: a cross compiler builds everything, with the headers and libraries of Debian's
# arm64 packages, and qemu runs it (tests/arm64.sh).

ARM64_CC    ?= aarch64-linux-gnu-gcc
ARM64_BUILD ?= build-aarch64

# Emulated instructions take about ten times as long. WALK_SHARE: random walks whose emulator calls a function before
# each access to memory take one step of so many: cm/test_cmd, whose steps cost more the more there are, takes 5 CPU s
# instead of some 500.
ARM64_TESTS   ?= unit/ shim/names shim/exports litmus =e2e/perftest/few_messages =e2e/cm/rping
ARM64_TARGETS ?= all tests

# What CI builds and runs in two or three minutes on two CPUs.
ARM64_PART := unit/emulator/engine/test_token unit/emulator/engine/test_recover unit/emulator/transport/test_rc \
	unit/fabric/join/test_seal unit/fabric/nldev/test_request unit/traces/formats/test_roce unit/traces/vtrace/test_vtrace

.PHONY: arm64 test-arm64 test-arm64-part
arm64: ## build for arm64, in build-aarch64
	@$(if $(NO_DEPS),:,tests/deps.sh arm64)
	@mkdir -p $(ARM64_BUILD)
	@tests/arm64.sh sysroot $(ARM64_BUILD)/sysroot
	@BUILD=$(ARM64_BUILD) MAKE='$(MAKE)' tests/build.sh CC='$(ARM64_CC)' $(ARM64_TARGETS)

test-arm64: arm64 ## build for arm64, and run unit tests and pairs of programs by qemu; TESTS=
	@BUILD=$(ARM64_BUILD) TEST_SLOW=10 WALK_SHARE=10 tests/arm64.sh run $(ARM64_BUILD)/sysroot \
		tests/run $(or $(TESTS),$(ARM64_TESTS))

test-arm64-part:
	@$(MAKE) --no-print-directory test-arm64 TESTS='$(ARM64_PART:%==%) =e2e/perftest/few_messages' \
		ARM64_TARGETS='all $(patsubst $(T)/%,$(ARM64_BUILD)/tests/%,$(LIB_TOOLS)) $(ARM64_PART:%=$(ARM64_BUILD)/tests/%)'
