# SPDX-License-Identifier: MIT
#
# tests/unit_*.c	CUnit programs over the emulator's own objects
# tests/app_*.c		verbs programs, started by tests/*.t under `rdmaemu run`
# tests/sys_*.c		small helpers without libibverbs
# tests/bench/*.c	measurements

T := $(BUILD)/tests

UNIT_SRC  := $(wildcard tests/unit_*.c)
APP_SRC	  := $(wildcard tests/app_*.c)
SYS_SRC	  := $(wildcard tests/sys_*.c)
WALK_SRC  := $(wildcard tests/walk_engine*.c)
WALKV_SRC := $(wildcard tests/walk_verbs*.c)
BENCH_SRC := $(wildcard tests/bench/*.c)

UNIT_BIN  := $(patsubst tests/%.c,$(T)/%,$(UNIT_SRC))
APP_BIN	  := $(patsubst tests/%.c,$(T)/%,$(APP_SRC))
CM_BIN	  := $(filter $(T)/app_cm_%,$(APP_BIN))
SYS_BIN	  := $(patsubst tests/%.c,$(T)/%,$(SYS_SRC))
BENCH_BIN := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))

# What several programs of a kind share.
UNIT_COMMON := $(call objs,$(wildcard tests/emu*.c))
APP_COMMON  := $(call objs,$(wildcard tests/rc*.c tests/vb*.c) tests/peer.c)
CM_COMMON   := $(call objs,$(wildcard tests/rdmacm*.c))

# Emulators that break a rule each (BREAK_RULE in these sources), for replays to notice.
BROKEN_SRC := emulator/resp_read.c emulator/requester.c emulator/responder.c
BROKEN_LIB := $(patsubst %,$(T)/broken-%/librdmaemu.so,1 2 3)

.PHONY: tests
tests: $(UNIT_BIN) $(APP_BIN) $(SYS_BIN) $(T)/walk_engine $(T)/walk_verbs $(BROKEN_LIB)

$(BROKEN_LIB): $(T)/broken-%/librdmaemu.so: $(BROKEN_SRC) $(LIB)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -DBREAK_RULE=$* -shared -o $@ $(BROKEN_SRC) \
		$(filter-out $(call objs,$(BROKEN_SRC)),$(SHIM_OBJ) $(EMULATOR_OBJ)) $(ALL_LDFLAGS) \
		-Wl,-soname,librdmaemu.so -Wl,--version-script=$(VERSION_SCRIPT) -Wl,--as-needed

$(T)/unit_%: $(BUILD)/obj/tests/unit_%.o $(UNIT_COMMON) $(EMULATOR_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcunit -lpthread $(UNIT_LIBS)

# One that tests parts of the fabric process.
$(T)/unit_link: $(call objs,fabric/linkq.c fabric/buddy.c fabric/linkwords.c)
$(T)/unit_fault: $(filter-out %/cli.o,$(FABRIC_OBJ)) $(TRACES_OBJ)
$(T)/unit_fault: UNIT_LIBS := -ljson-c -lnettle -lpcap -lz -lm
$(T)/unit_join: $(call objs,fabric/join_wire.c)
# One of the recorder's, whose profiles the fabric process reads.
$(T)/unit_card: $(call objs,librecord/profile.c fabric/profile.c fabric/profile_builtin.c fabric/textfile.c fabric/optvalues.c)

# Those of traces/.
$(T)/unit_roce $(T)/unit_pcapng $(T)/unit_cmpcap $(T)/unit_calls $(T)/unit_vtrace: $(TRACES_OBJ)
$(T)/unit_roce $(T)/unit_pcapng $(T)/unit_cmpcap $(T)/unit_calls $(T)/unit_vtrace: UNIT_LIBS := -lpcap -lz

# Of a replay, how its threads wait for each other.
$(T)/unit_turn: $(call objs,replay/turn.c replay/share.c) $(VTRACE_OBJ)
$(T)/unit_turn: UNIT_LIBS := -lz

$(T)/walk_engine: $(call objs,$(WALK_SRC)) $(UNIT_COMMON) $(EMULATOR_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread

$(T)/walk_verbs: $(call objs,$(WALKV_SRC)) $(APP_COMMON)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -libverbs -lpthread

$(T)/app_%: $(BUILD)/obj/tests/app_%.o $(APP_COMMON)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -libverbs -lpthread

# The rdma_cm's. A static pattern: of two implicit rules, make takes the one whose prerequisites exist.
$(CM_BIN): $(T)/%: $(BUILD)/obj/tests/%.o $(CM_COMMON) $(APP_COMMON)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lrdmacm -libverbs -lpthread

$(T)/sys_%: $(BUILD)/obj/tests/sys_%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lpthread $(SYS_LIBS)

# One that writes frames.
$(T)/sys_frames: $(TRACES_OBJ)
$(T)/sys_frames: SYS_LIBS := -lz -lpcap

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(BENCH_LIBS) -lpthread -lm

$(BUILD)/bench/cm_connect: BENCH_LIBS := -lrdmacm -libverbs

# One that goes by the table of calls.
$(T)/app_cm_calls: $(call objs,fabric/calls.c tests/calls_verbs.c)

.SECONDARY:

# All tests, on one node. TESTS= picks some by name; SETTING= says where their two sides are
# (tests/setting.sh): make test TESTS='bb_pingpong unit_psn' SETTING='nodes fabrics', or SETTING=all
SETTING ?= one
.PHONY: test
test: deps
	@$(MAKE) --no-print-directory all tests
	@BUILD=$(BUILD) SETTING='$(SETTING)' tests/run $(TESTS)

N ?= 10000
.PHONY: torture
torture: all tests
	@BUILD=$(BUILD) TORTURE_N=$(N) TEST_TIMEOUT=7200 tests/run torture

# Scenarios of fault rules at random, of which RERUNS are run twice: make torture-faults N=1000 SEED=7
RERUNS ?= 50
.PHONY: torture-faults
torture-faults: N = 1000
torture-faults: all tests
	@seed=$(SEED); echo "SEED=$$seed"; \
	BUILD=$(BUILD) TORTURE_FAULTS=$(N) TORTURE_RERUNS=$(RERUNS) TORTURE_SEED=$$seed TEST_TIMEOUT=14400 \
		tests/run torture_fault

# A longer random walk, from a seed that is printed: make walk STEPS=20000000 SEED=7
STEPS ?= 5000000
SEED  ?= $(shell date +%s)
.PHONY: walk
walk: all tests
	@echo "SEED=$(SEED)"
	@BUILD=$(BUILD) WALK_STEPS=$(STEPS) WALK_SEED=$(SEED) TEST_TIMEOUT=7200 tests/run walk

.PHONY: bench
bench: all $(BENCH_BIN) $(T)/app_many_nodes
	@BUILD=$(BUILD) tests/bench/run

# Sanitizers, each in a build directory of its own. tests/san.sh says what runs under which.
# -Wno-tsan: gcc warns of fences, which TSan does not follow. What they order are relaxed atomics
# (sequence counts), in which TSan sees no race anyway.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
TSAN := -fsanitize=thread -fno-omit-frame-pointer -Wno-unknown-warning-option -Wno-tsan

BUILD_ASAN ?= $(BUILD)-asan
BUILD_TSAN ?= $(BUILD)-tsan

.PHONY: check-san check-asan check-tsan check-valgrind
check-san: check-asan check-tsan check-valgrind

.PHONY: san-deps
san-deps:
	@$(if $(NO_DEPS),:,tests/deps.sh valgrind)

check-asan: san-deps
	@$(MAKE) --no-print-directory BUILD=$(BUILD_ASAN) OPT='-O1 -g' SAN='$(ASAN)' all tests
	@BUILD=$(BUILD_ASAN) tests/san.sh asan $(TESTS)

check-tsan: san-deps
	@$(MAKE) --no-print-directory BUILD=$(BUILD_TSAN) OPT='-O1 -g' SAN='$(TSAN)' all tests
	@BUILD=$(BUILD_TSAN) tests/san.sh tsan

check-valgrind: san-deps
	@$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) tests/san.sh valgrind
