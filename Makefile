# SPDX-License-Identifier: MIT
#
# `make help` lists the targets, from the comments after them in this file and mk/*.mk.
#
# BUILD= names the build directory; NO_DEPS=1 keeps demo and test from installing packages.

PREFIX	?= /usr/local
CC	?= cc
HOSTCC	?= cc
# The binutils of a cross compiler, from the CC of `make CC=aarch64-linux-gnu-gcc`, whose objects go to build-aarch64.
CROSS	:= $(patsubst %gcc,%,$(filter %-gcc,$(CC)))
BUILD	?= build$(if $(CROSS),-$(firstword $(subst -, ,$(CROSS))))
AR	:= $(CROSS)ar
OBJCOPY	:= $(CROSS)objcopy
OPT	?= -O2 -g
WARN	:= -Wall -Wextra -Werror
SAN	?=

# A tree with the headers and libraries of the machine that a cross compiler compiles for, as test-arm64 makes one.
SYSROOT	?= $(if $(CROSS),$(wildcard $(BUILD)/sysroot))
ifneq ($(SYSROOT),)
override CC := $(CC) --sysroot=$(SYSROOT)
endif

# Shared memory has 64-bit words, which programs of other word sizes could not take or publish at once.
WORD	:= $(shell echo __SIZEOF_POINTER__ | $(CC) $(CFLAGS) -E -P - 2>/dev/null)
ifneq ($(filter-out 8,$(WORD)),)
$(error $(strip $(CC) $(CFLAGS)) compiles for words of $(WORD) bytes: rdmaemu needs a 64-bit machine, such as x86_64 or aarch64)
endif

# The shim is loaded into programs of any kind and must not export anything by accident; position-
# independent objects serve the command as well, so that each source is compiled once.
ALL_CFLAGS  = -std=gnu11 $(OPT) $(FRAMES) $(WARN) -I. -D_GNU_SOURCE -fPIC -fvisibility=hidden $(SAN) $(CFLAGS)
ALL_LDFLAGS = $(OPT) $(SAN) $(LDFLAGS)

# V=1 shows the commands.
V ?= 0
ifeq ($(V),0)
Q := @
say = @echo '  $(1)	$(2)'
endif

VERSION_SCRIPT := libshim/exports.map
BIN	:= $(BUILD)/bin/rdmaemu
REPLAY	:= $(BUILD)/bin/rdmaemu-replay
LIB	:= $(BUILD)/lib/librdmaemu.so
TAP	:= $(BUILD)/lib/librdmaemu-tap.so
DISPATCH := $(BUILD)/lib/librdmaemu-dispatch.so

# For tests that control their fabric.
VERSION	:= $(shell sed -n 's/^\#define RDMAEMU_VERSION "\(.*\)".*/\1/p' fabric/proto/version.h)
CTL	:= $(BUILD)/lib/librdmaemu-ctl
CTL_SO	:= $(CTL).so.$(VERSION)
CTL_ABI := librdmaemu-ctl.so.0

# Sources of whole folders, their subfolders included.
sources = $(sort $(shell find $(1) -name '*.c'))

EMULATOR_SRC := $(call sources,emulator)
TRACES_SRC   := $(call sources,traces/formats traces/calls traces/vtrace traces/compare)
FABRIC_SRC   := $(call sources,fabric)
SHIM_SRC     := $(call sources,libshim)
# Copying between processes, sending by a wire, and what programs need, is the same for both sides.
SHARED_SRC   := $(addprefix fabric/proto/,vmcopy.c vm_span.c vm_forced.c lent_map.c rlimit.c seg_map.c program.c preload.c) \
	$(call sources,fabric/egress fabric/ingress fabric/packet) $(wildcard traces/formats/roce*.c)

REPLAY_SRC   := $(call sources,traces/replay)

CTL_SRC	     := $(call sources,libctl) $(addprefix fabric/proto/,control_call.c state_find.c port_counters.c)

objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

EMULATOR_OBJ := $(call objs,$(EMULATOR_SRC))
TRACES_OBJ   := $(call objs,$(TRACES_SRC))
FABRIC_OBJ   := $(call objs,$(FABRIC_SRC))
SHIM_OBJ     := $(call objs,$(SHIM_SRC) $(SHARED_SRC))
VTRACE_OBJ   := $(call objs,$(call sources,traces/vtrace traces/calls traces/compare))
# The tap stands between programs and libraries as the shim does. Its users know of the rest only what a trace is.
TAP_OBJ	     := $(call objs,$(call sources,libtap traces/record traces/calls) libshim/interpose/real_symbol.c \
		libshim/interpose/dl.c libshim/interpose/exec.c libshim/interpose/maps.c $(addprefix fabric/proto/,program.c preload.c \
		control_call.c calls.c finding.c finding_table.c) traces/vtrace/write.c traces/vtrace/command_line.c)
DISPATCH_OBJ := $(call objs,$(call sources,libdispatch) libshim/interpose/real_symbol.c libshim/interpose/dl.c \
		libshim/interpose/rsocket.c libshim/interpose/exec.c $(addprefix fabric/proto/,program.c preload.c))
CTL_OBJ	     := $(call objs,$(CTL_SRC))
REPLAY_OBJ   := $(call objs,$(REPLAY_SRC))

# Leak sanitizers find the caller of what creates an object by frame pointers: reports name the program's line.
$(call objs,$(addprefix libshim/verbs/,ah.c context.c cq.c device.c dm.c domain.c flow.c flow_counter.c import.c mr.c \
	mw.c objects.c pd.c qp.c srq.c comp_channel.c wq.c xrcd.c) $(filter libshim/cm/%,$(SHIM_SRC))): \
	FRAMES := -fno-omit-frame-pointer

# Filling and changing small structures field by field takes fewer instructions than by gathering fields in vectors.
$(call objs,emulator/transport/straight.c): OPT += -fno-tree-slp-vectorize

.PHONY: all
all: $(BIN) $(REPLAY) $(LIB) $(TAP) $(DISPATCH) $(CTL).so $(CTL).a ## build (the default)

$(BIN): $(FABRIC_OBJ) $(TRACES_OBJ) $(EMULATOR_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -ljson-c -lhogweed -lgmp -lnettle -lz -lm -ldl

$(REPLAY): $(REPLAY_OBJ) $(VTRACE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrdmacm -libverbs -ljson-c -lz -lpthread -ldl

$(LIB): $(SHIM_OBJ) $(EMULATOR_OBJ) $(VERSION_SCRIPT)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) -Wl,-soname,librdmaemu.so \
		-Wl,--version-script=$(VERSION_SCRIPT) -Wl,--as-needed $(if $(SAN),,-Wl,-z,defs)

$(TAP): $(TAP_OBJ) $(VERSION_SCRIPT) libtap/direct/vendors.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) -Wl,-soname,librdmaemu-tap.so \
		-Wl,--version-script=$(VERSION_SCRIPT) -Wl,--version-script=libtap/direct/vendors.map -Wl,--as-needed \
		$(if $(SAN),,-Wl,-z,defs) -lz

$(DISPATCH): $(DISPATCH_OBJ) $(VERSION_SCRIPT)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -o $@ $(filter %.o,$^) -Wl,-soname,librdmaemu-dispatch.so \
		-Wl,--version-script=$(VERSION_SCRIPT) -Wl,--as-needed $(if $(SAN),,-Wl,-z,defs)

$(CTL_SO): $(CTL_OBJ) libctl/exports.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -o $@ $(CTL_OBJ) -Wl,-soname,$(CTL_ABI) \
		-Wl,--version-script=libctl/exports.map $(if $(SAN),,-Wl,-z,defs)

$(CTL).so: $(CTL_SO)
	$(Q)ln -sf $(notdir $(CTL_SO)) $(BUILD)/lib/$(CTL_ABI)
	$(Q)ln -sf $(CTL_ABI) $@

# As one object, of which nothing is to be seen but what rdmaemu.h has.
$(CTL).a: $(CTL_OBJ)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/obj/rdmaemu-ctl.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/obj/rdmaemu-ctl.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/obj/rdmaemu-ctl.o

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Built-in profiles are the files themselves.
$(BUILD)/obj/fabric/common/profile_builtin.o: $(wildcard profiles/*.conf)
# The viewer of a report as well.
$(BUILD)/obj/fabric/cli/report/page.o: $(wildcard fabric/cli/report/viewer/*)

include mk/tests.mk
include mk/arm64.mk
include mk/litmus.mk
include mk/fuzz.mk
include mk/lint.mk
include mk/install.mk
include mk/package.mk

-include $(shell find $(BUILD)/obj $(BUILD)/obj-steps $(BUILD)/tests/litmus/obj -name '*.d' 2>/dev/null)

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile mk/*.mk | sort | \
		awk -F '\t' '{ printf "  %-16s%s\n", $$1, $$2 }'
	@echo
	@echo "  BUILD=       the build directory (build)"
	@echo "  CC=          the compiler, or a cross compiler as aarch64-linux-gnu-gcc, with SYSROOT="
	@echo "  NO_DEPS=1    install no packages"
	@echo "  V=1          print the commands"

.PHONY: deps demo
deps:
	@$(if $(NO_DEPS),:,tests/deps.sh test)

demo: ## install what is missing, build, and show what rdmaemu does
	@$(if $(NO_DEPS),:,tests/deps.sh demo)
	@BUILD=$(BUILD) MAKE='$(MAKE)' tests/demo.sh

.PHONY: clean
clean: ## remove the build directories
	rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_TSAN)
