# SPDX-License-Identifier: MIT
#
# tests/unit/			CUnit programs over parts of the project, in folders as the sources have them
# tests/verbs/OBJECT/NAME.c	verbs programs, built as app_OBJECT_NAME and started by *.t under `rdmaemu run`
# tests/lib/tools/, tests/shim/	small helpers without libibverbs
# tests/model/			random walks that are compared with a model
# tests/mutants/			edits that break one rule of the emulator each
# tests/bench/			measurements
# tests/lib/c/			what several of them share
# tests/lib/engine/		an engine without a fabric process, for the unit tests
# tests/lib/wire/			a fabric process with a wire without system calls
# tests/lib/program/		a program next to it
# tests/lib/mesh/			a joined fabric process without system calls

T := $(BUILD)/tests

UNIT_SRC  := $(call sources,tests/unit)
APP_SRC	  := $(call sources,tests/verbs)
SYS_SRC	  := $(filter-out %/sys_port.c,$(wildcard tests/lib/tools/sys_*.c tests/shim/*.c))
WALK_SRC  := $(wildcard tests/model/walk_engine*.c)
WALKV_SRC := $(wildcard tests/model/walk_verbs*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)

UNIT_BIN  := $(patsubst tests/%.c,$(T)/%,$(UNIT_SRC))
# tests/verbs/cm/conn.c is app_cm_conn.
APP_BIN	  := $(addprefix $(T)/app_,$(subst /,_,$(patsubst tests/verbs/%.c,%,$(APP_SRC))))
CM_BIN	  := $(filter $(T)/app_cm_%,$(APP_BIN))
SYS_BIN	  := $(addprefix $(T)/,$(notdir $(basename $(SYS_SRC))))
BENCH_BIN := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))

# What tests/run and tests/lib/lib.sh themselves use.
LIB_TOOLS := $(T)/supervise $(T)/sys_port $(T)/gettimeofday_naps.so

# Each of these runs for a moment, and they are a third of the build: -O1 takes half the time of -O2, and without the
# description of variables three quarters of that. Backtraces have their lines; gdb gets the rest by OPT='-O0 -g'.
$(addprefix $(BUILD)/obj/tests/,unit/%.o verbs/%.o lib/%.o shim/%.o): OPT := $(subst -O2 -g,-O1 -g1,$(OPT))

# What several programs of a kind share.
UNIT_COMMON := $(call objs,$(wildcard tests/lib/engine/emu*.c))
# A call takes the same instructions each time: the loader finds no function at its first call, but all at the start.
UNIT_NOW    := -Wl,-z,now
# Without x86's trap flag, tests/lib/engine/emu_die.c needs an emulator that calls a function before each access to
# memory.
MACHINE	    := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
STEPS_OBJ   := $(patsubst $(BUILD)/obj/%,$(BUILD)/obj-steps/%,$(EMULATOR_OBJ))
# Those calls take ten times as long as the accesses, so only tests in which a client dies have them.
STEPS_UNITS := $(if $(filter x86_64,$(MACHINE)),,$(shell grep -rlE 'emu_die_|lib/engine/deaths\.h' tests/unit))
APP_COMMON  := $(call objs,$(wildcard tests/lib/c/rc*.c tests/lib/c/vb*.c) tests/lib/c/peer.c)
CM_COMMON   := $(call objs,$(wildcard tests/lib/c/rdmacm*.c))

# Mutants: the shim with an emulator that breaks one rule, for replays to notice. Each is one sed script, which is
# applied to a copy of the source that its line `# source:` names.
MUTANTS	   := $(patsubst tests/mutants/%.sed,%,$(wildcard tests/mutants/*.sed))
MUTANT_LIB := $(MUTANTS:%=$(T)/mutants/%/librdmaemu.so)
mutant_src  = $(shell sed -n 's/^\# source: //p' tests/mutants/$(1).sed)

# A copy of the command that runs out of memory: see its rule.
FAILING := $(T)/malloc/bin/rdmaemu

.PHONY: tests
tests: $(LIB_TOOLS) $(UNIT_BIN) $(APP_BIN) $(SYS_BIN) $(FAILING) $(T)/walk_engine $(T)/walk_verbs $(MUTANT_LIB) ## build the programs of the tests

.PHONY: unit-tests
unit-tests: $(LIB_TOOLS) $(UNIT_BIN) ## build the programs of the unit tests alone

define mutant
$(T)/mutants/$(1)/mutant.c: $(call mutant_src,$(1)) tests/mutants/$(1).sed
	@mkdir -p $$(@D)
	@sed -f tests/mutants/$(1).sed $$< >$$@
	@if cmp -s $$< $$@; then echo 'tests/mutants/$(1).sed changes nothing in $$<: adapt it' >&2; rm $$@; exit 1; fi

$(T)/mutants/$(1)/librdmaemu.so: $(T)/mutants/$(1)/mutant.c $(LIB)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(ALL_CFLAGS) -shared -o $$@ $$< $$(filter-out $$(call objs,$(call mutant_src,$(1))),\
		$$(SHIM_OBJ) $$(EMULATOR_OBJ)) $$(ALL_LDFLAGS) \
		-Wl,-soname,librdmaemu.so -Wl,--version-script=$$(VERSION_SCRIPT) -Wl,--as-needed
endef
$(foreach m,$(MUTANTS),$(eval $(call mutant,$(m))))

$(BUILD)/obj-steps/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=thread -Wno-tsan -MMD -MP -c -o $@ $<

# These stand in subfolders, and each names its object: a pattern's % does not reach across a `/` of two names.
define unit_program
$(T)/$(1): $(BUILD)/obj/tests/$(1).o $(UNIT_COMMON) $(if $(filter tests/$(1).c,$(STEPS_UNITS)),$(STEPS_OBJ),$(EMULATOR_OBJ))
endef
$(foreach p,$(UNIT_SRC:tests/%.c=%),$(eval $(call unit_program,$(p))))
$(UNIT_BIN):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(UNIT_NOW) -o $@ $^ -lcunit -lpthread $(UNIT_LIBS)

# A joined fabric process in a test: tests/lib/mesh/world.h. The linker replaces its system calls.
WORLD_CALLS := read readv write writev ioctl close socket connect accept4 getsockname getpeername getsockopt setsockopt \
	epoll_ctl clock_gettime getrandom mmap munmap malloc calloc free nettle_curve25519_mul nettle_curve25519_mul_g
WORLD_LIBS  := $(WORLD_CALLS:%=-Wl,--wrap=%) -lhogweed -lgmp -lnettle
WORLD_SRC   := tests/lib/c/frozen.c $(wildcard tests/lib/mesh/*.c fabric/join/*.c fabric/link/*.c) \
	$(filter-out fabric/core/note.c,$(wildcard fabric/core/*.c)) \
	$(addprefix fabric/common/,descriptors.c host_port.c parse_link.c parse.c suggest.c) \
	$(addprefix fabric/proto/,vmcopy.c vm_span.c vm_forced.c lent_map.c seg_map.c)

# A fabric process with a wire: tests/lib/wire/wire_world.h.
WIRE_CALLS := egress_call_socket egress_call_setsockopt egress_call_bind egress_call_sendmmsg egress_call_recvmmsg socket setsockopt bind close getsockname \
	sendto recv epoll_ctl clock_gettime mmap calloc aligned_alloc
WIRE_LIBS  := $(WIRE_CALLS:%=-Wl,--wrap=%) -lz
WIRE_SRC   := tests/lib/c/frozen.c $(wildcard tests/lib/wire/*.c fabric/roce/*.c fabric/egress/*.c fabric/ingress/*.c fabric/packet/*.c fabric/link/*.c traces/formats/roce*.c) \
	$(filter-out fabric/core/note.c,$(wildcard fabric/core/*.c)) \
	$(addprefix fabric/common/,parse.c parse_link.c suggest.c wire_list.c) \
	$(addprefix fabric/proto/,vmcopy.c vm_span.c vm_forced.c lent_map.c seg_map.c)

# Those that test parts of the fabric process.
U := $(T)/unit
$(U)/fabric/proto/test_program: $(call objs,fabric/proto/program.c fabric/proto/preload.c)
$(U)/fabric/proto/test_lent_map: $(call objs,fabric/proto/lent_map.c fabric/proto/seg_map.c)
$(U)/fabric/link/test_queue: $(call objs,fabric/link/queue.c fabric/link/buddy.c fabric/common/parse_link.c)
FABRIC_UNITS := $(addprefix $(U)/fabric/,fault/test_rules fault/test_contradiction server/test_socket_watch \
	server/test_idle server/test_status_real)
$(FABRIC_UNITS): $(filter-out %/fabric/main.o,$(FABRIC_OBJ)) $(TRACES_OBJ)
$(FABRIC_UNITS): UNIT_LIBS := -ljson-c -lhogweed -lgmp -lnettle -lz -lm -ldl
$(U)/fabric/nldev/test_request: $(call objs,$(wildcard fabric/nldev/*.c))
$(U)/fabric/egress/test_flow: $(call objs,fabric/egress/flow.c)
$(U)/fabric/server/test_account: $(call objs,fabric/server/account.c)
$(U)/fabric/server/test_slices: $(call objs,fabric/server/slices.c)
$(U)/fabric/server/test_eventfd_signal: $(call objs,fabric/server/eventfd_signal.c)
$(U)/fabric/server/test_eventfd_signal: UNIT_LIBS := -Wl,--wrap=poll
$(U)/fabric/join/test_codec $(U)/fabric/join/test_codec_burst: $(call objs,fabric/join/codec.c fabric/join/codec_burst.c)
$(U)/fabric/join/test_seal: $(call objs,fabric/join/seal.c fabric/join/keys.c fabric/join/keys_memory.c)
$(U)/fabric/join/test_keys: $(call objs,fabric/join/keys.c fabric/join/keys_memory.c)
$(U)/fabric/join/test_seal $(U)/fabric/join/test_keys: UNIT_LIBS := -lhogweed -lgmp -lnettle
WORLD_UNITS := $(addprefix $(U)/fabric/join/,test_admission test_forward test_loan test_mesh test_stream test_texts)
$(WORLD_UNITS): $(call objs,$(WORLD_SRC))
$(WORLD_UNITS): UNIT_LIBS := $(WORLD_LIBS)
WIRE_UNITS := $(addprefix $(U)/fabric/roce/,test_group test_input test_output test_peers test_share)
$(WIRE_UNITS): $(call objs,$(WIRE_SRC))
$(WIRE_UNITS): UNIT_LIBS := $(WIRE_LIBS)
# A program next to it: tests/lib/program/program.h.
PROGRAM_UNITS := $(addprefix $(U)/libshim/client/,test_wire_receive test_wire_send)
$(PROGRAM_UNITS): $(call objs,$(WIRE_SRC) tests/lib/program/program.c)
$(PROGRAM_UNITS): UNIT_LIBS := $(WIRE_LIBS)
$(U)/traces/record/test_poll: $(call objs,traces/record/poll.c)
# One of the recorder's, whose profiles the fabric process reads.
$(U)/traces/record/test_profile: $(call objs,traces/record/profile.c $(addprefix fabric/common/,profile.c \
	profile_builtin.c text_io.c json.c parse.c))
$(U)/traces/record/test_profile: UNIT_LIBS := -ljson-c

# The tap, above functions of the test.
TAP_UNITS := $(filter-out $(U)/libtap/check/%,$(filter $(U)/libtap/%,$(UNIT_BIN)))
$(TAP_UNITS): $(call objs,$(wildcard libtap/*.c) $(call sources,traces/calls) libshim/interpose/maps.c)
$(filter-out $(U)/libtap/users/%,$(TAP_UNITS)): $(call objs,tests/lib/c/tap_stub.c)
$(addprefix $(U)/libtap/,test_post test_quiet): $(call objs,tests/lib/c/tap_objects.c)
$(U)/libtap/check/test_stack: $(call objs,libtap/check/stack.c)
$(U)/libtap/users/test_device_mask: $(call objs,libtap/users/device_mask.c)
$(U)/libtap/users/test_request_log: $(call objs,libtap/users/request_log.c tests/lib/c/tap_stub.c)

# Those of traces/.
TRACE_UNITS := $(addprefix $(U)/traces/,formats/test_roce formats/test_roce_crc32 formats/test_roce_parse formats/test_pcapng formats/test_capture_file \
	formats/test_cm_frames calls/test_calls vtrace/test_vtrace vtrace/test_devices compare/test_words)
$(TRACE_UNITS): $(TRACES_OBJ)
$(TRACE_UNITS): UNIT_LIBS := -lpcap -lz

$(U)/fabric/cli/trace/test_diff_devices: $(call objs,fabric/cli/trace/diff_devices.c fabric/common/json.c) $(TRACES_OBJ)
$(U)/fabric/cli/trace/test_diff_devices: UNIT_LIBS := -ljson-c -lpcap -lz

# The turns of a replay's threads.
$(U)/traces/replay/test_turn: $(call objs,traces/replay/turn.c traces/replay/shared.c) $(VTRACE_OBJ)
$(U)/traces/replay/test_turn: UNIT_LIBS := -lz
$(U)/traces/replay/test_result_compare: $(call objs,traces/replay/result_compare.c) $(VTRACE_OBJ)
$(U)/traces/replay/test_result_compare: UNIT_LIBS := -lz

$(T)/walk_engine: $(call objs,$(WALK_SRC)) $(UNIT_COMMON) $(EMULATOR_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread

$(T)/walk_verbs: $(call objs,$(WALKV_SRC)) $(APP_COMMON)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -libverbs -lpthread

define app_program
$(T)/app_$(subst /,_,$(1)): $(BUILD)/obj/tests/verbs/$(1).o $(APP_COMMON)
endef
$(foreach p,$(APP_SRC:tests/verbs/%.c=%),$(eval $(call app_program,$(p))))
$(CM_BIN): $(CM_COMMON)
$(filter $(T)/app_check_%,$(APP_BIN)): $(call objs,tests/lib/c/seed.c)
$(CM_BIN) $(T)/app_check_identifiers: APP_LIBS := -lrdmacm
$(T)/app_device_beside: APP_LIBS := -lcunit
$(T)/app_srd_messages: APP_LIBS := -lefa
$(T)/app_cm_beside $(T)/app_cm_beside_fields: APP_LIBS := -lrdmacm -lcunit
$(APP_BIN):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(APP_LIBS) -libverbs -lpthread

define sys_program
$(T)/$(notdir $(1)): $(BUILD)/obj/tests/$(1).o
endef
$(foreach p,$(SYS_SRC:tests/%.c=%),$(eval $(call sys_program,$(p))))
$(SYS_BIN):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread $(SYS_LIBS)

# The test runner's, without sanitizers: they are no part of what those check. A cross build's tests use them, too, and
# an emulated program does not get the netlink sockets of sock_diag(7): they are for the machine that builds.
$(T)/supervise $(T)/sys_port: $(T)/%: tests/lib/tools/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(if $(CROSS),$(HOSTCC),$(CC)) -std=gnu11 -O2 $(WARN) -D_GNU_SOURCE -I. -o $@ $<

# perftest runs with it, as it is: neither is it what sanitizers check.
$(T)/gettimeofday_naps.so: tests/lib/tools/gettimeofday_naps.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 -O2 $(WARN) -D_GNU_SOURCE -fPIC -shared -o $@ $<

# A copy of the command whose fabric process runs out of memory when it is told to; it looks for libraries next to it.
$(FAILING): tests/lib/tools/malloc_fail.c $(FABRIC_OBJ) $(TRACES_OBJ) $(EMULATOR_OBJ)
	@mkdir -p $(@D)
	@ln -sfn ../../lib $(T)/malloc/lib
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ -ljson-c -lhogweed -lgmp -lnettle -lz -lm -ldl

# sys_frames writes frames.
$(T)/sys_frames: $(TRACES_OBJ)
$(T)/sys_frames: SYS_LIBS := -lz

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(BENCH_LIBS) -lpthread -lm

$(BUILD)/bench/cm_connect: BENCH_LIBS := -lrdmacm -libverbs
$(addprefix $(BUILD)/bench/,post_cost register_cost tap_cost): BENCH_LIBS := -libverbs

# Clients without the library.
$(addprefix $(T)/app_device_,claims crowd lingering peers silent starving wild): $(call objs,tests/lib/c/protocol_client.c)

$(T)/app_device_sequences: $(call objs,tests/lib/c/sequence_work.c)

# app_cm_calls uses the table of calls.
$(T)/app_cm_calls: $(call objs,fabric/proto/calls.c tests/lib/c/calls_verbs.c)

.SECONDARY:

# All tests, on one node. TESTS= selects some by name; SETTING= says where their two sides are
# (tests/README.md): make test TESTS='e2e/perftest test_psn' SETTING='nodes fabrics', or SETTING=all
SETTING ?= one
.PHONY: test
test: deps ## install what is missing, build, and run all tests; TESTS= SETTING=
	@BUILD=$(BUILD) MAKE='$(MAKE)' tests/build.sh all tests
	@BUILD=$(BUILD) SETTING='$(SETTING)' tests/run $(TESTS)

# From npm's registry: rules of WCAG for the report's page, the schema of Kubernetes' API for manifests, and a reader of
# traces. Tests that find them use them.
.PHONY: npm
npm: ## install judges of pages, manifests and traces in build/npm for their tests; needs npm
	@mkdir -p $(BUILD)/npm
	$(Q)cp tests/lib/npm/* $(BUILD)/npm
	$(Q)npm ci --prefix $(BUILD)/npm --no-audit --no-fund --silent

.PHONY: test-apps
test-apps: ## install big applications (MPI, QEMU, fio, tgt), and run them as docs/guide/applications.md shows
	@$(if $(NO_DEPS),:,tests/deps.sh apps)
	@$(MAKE) --no-print-directory all $(LIB_TOOLS)
	@BUILD=$(BUILD) tests/run e2e/apps

.PHONY: test-rdma-core
test-rdma-core: all $(LIB_TOOLS) ## build the rdma-core of RDMA_CORE=DIR, run its examples and test suite; TESTS= SETTING=
	@BUILD=$(BUILD) SETTING='$(SETTING)' TESTS='$(TESTS)' tests/rdma_core.sh '$(RDMA_CORE)'

N ?= 10000
.PHONY: torture
torture: all tests ## N= random kills of clients (10000), of joined fabrics, failing calls; TORTURE_SECONDS=
	@BUILD=$(BUILD) TORTURE_N=$(N) ORDER_COUNT=$$(($(N) * 100)) ORDER_SECONDS=500 TEST_TIMEOUT=7200 \
		tests/run torture =verbs/qp/order =e2e/cm/rsockets_standard_tests \
		=verbs/device/isolated_client_goes_wild =verbs/device/starving_clients_leave_a_share

# Scenarios of fault rules at random, of which RERUNS are run twice: make torture-faults N=1000 SEED=7
RERUNS ?= 50
.PHONY: torture-faults
torture-faults: N = 1000
torture-faults: all tests ## N= scenarios of random fault rules (1000), RERUNS= of them twice; SEED=
	@seed=$(SEED); echo "SEED=$$seed"; \
	BUILD=$(BUILD) TORTURE_FAULTS=$(N) TORTURE_RERUNS=$(RERUNS) TORTURE_SEED=$$seed TEST_TIMEOUT=14400 \
		tests/run =torture/fault

# Each mistake that the checker must find, and each twin without it, N times: make check-seeds N=50
.PHONY: check-seeds
check-seeds: N = 50
check-seeds: all tests ## find each seeded mistake in N= of N processes (50), and none in its twin
	@BUILD=$(BUILD) CHECK_REPEATS=$(N) TEST_TIMEOUT=14400 tests/run =e2e/check/seeded_mistakes_are_found

# A longer random walk, from a seed that is printed: make walk STEPS=20000000 SEED=7
STEPS ?= 5000000
SEED  ?= $(shell date +%s)
.PHONY: walk
walk: all tests ## random walks next to a model; STEPS= SEED=
	@echo "SEED=$(SEED)"
	@BUILD=$(BUILD) WALK_STEPS=$(STEPS) WALK_SEED=$(SEED) TEST_TIMEOUT=7200 tests/run walk

.PHONY: bench
bench: all $(BENCH_BIN) $(T)/app_device_many_nodes $(LIB_TOOLS) ## measure the emulator next to the limits of the machine
	@BUILD=$(BUILD) tests/bench/run

# Sanitizers, each in a build directory of its own. tests/san.sh says what runs under which.
# -Wno-tsan: gcc warns of fences, which TSan does not follow. They order relaxed atomics (sequence
# counts), in which TSan sees no race anyway.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
TSAN := -fsanitize=thread -fno-omit-frame-pointer -Wno-unknown-warning-option -Wno-tsan

BUILD_ASAN ?= $(BUILD)-asan
BUILD_TSAN ?= $(BUILD)-tsan

.PHONY: check-san check-asan check-tsan check-valgrind
check-san: check-asan check-tsan check-valgrind ## run tests under ASan and UBSan, under TSan, and under valgrind

.PHONY: san-deps
san-deps:
	@$(if $(NO_DEPS),:,tests/deps.sh san)

check-asan: san-deps
	@$(MAKE) --no-print-directory BUILD=$(BUILD_ASAN) OPT='-O1 -g' SAN='$(ASAN)' all tests
	@BUILD=$(BUILD_ASAN) tests/san.sh asan $(TESTS)

check-tsan: san-deps
	@$(MAKE) --no-print-directory BUILD=$(BUILD_TSAN) OPT='-O1 -g' SAN='$(TSAN)' all tests
	@BUILD=$(BUILD_TSAN) tests/san.sh tsan

check-valgrind: san-deps
	@$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) tests/san.sh valgrind

# README's commands on bare roots: make check-fresh SUITES=trixie FRESH_TESTS= (all tests)
SUITES ?= bookworm trixie
.PHONY: check-fresh
check-fresh: ## on bare roots of Debian SUITES=, do what README says; needs root and mmdebstrap
	@tests/fresh.sh $(SUITES)

# The kernel's own soft devices, rxe and siw, in a guest.
GUESTS ?= bookworm
.PHONY: test-real
test-real: ## compare programs on rxe and siw with and without rdmaemu, in guests of Debian suites GUESTS=; needs root
	@$(if $(NO_DEPS),:,tests/deps.sh guest)
	@$(MAKE) --no-print-directory all $(LIB_TOOLS) \
		$(addprefix $(T)/app_,cm_beside cm_beside_fields cm_messages cm_sizes device_sequences device_unplug \
		fault_defer fault_late fault_late_receive fault_limits fault_lost_wakeup fault_raised fault_work)
	@for suite in $(GUESTS); do \
		echo "# $$suite"; \
		BUILD=$(BUILD) tests/guest/boot $$suite tests/guest/all $(GUEST_TESTS) || exit; \
	done
