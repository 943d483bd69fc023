# SPDX-License-Identifier: MIT
#
# libFuzzer, with ASan and UBSan, on what reads files and frames that anybody may have made. It needs clang with its
# runtime library.
#
#	make fuzz RUNS=1000000			all of them
#	make fuzz FUZZ='roce pcap' RUNS=5000000	some
#
# NAME is tests/fuzz/fuzz_NAME.c with the sources FUZZ_SRC_NAME, the libraries FUZZ_LIBS_NAME and inputs of up to
# FUZZ_MAX_NAME bytes (2048), compiled with FUZZ_FLAGS_NAME and run with FUZZ_ARGS_NAME. tests/fuzz/corpus.py NAME
# FOLDER writes the first inputs.

RUNS ?= 1000000
FUZZ ?= trace roce pcap vtrace inject script join mesh wire

ROCE_SRC := $(wildcard traces/formats/roce*.c)

FUZZ_SRC_trace	:= fabric/cli/fault_try/frame.c fabric/cli/fault_try/connection.c fabric/fault/packet.c fabric/fault/names.c $(ROCE_SRC) $(EMULATOR_SRC)
FUZZ_LIBS_trace := -lz
FUZZ_SRC_roce	:= $(ROCE_SRC)
FUZZ_LIBS_roce	:= -lz
FUZZ_SRC_pcap	:= traces/formats/capture_file.c $(ROCE_SRC)
FUZZ_LIBS_pcap	:= -lpcap -lz
FUZZ_MAX_pcap	:= 8192
FUZZ_SRC_vtrace	:= $(call sources,traces/vtrace traces/calls)
FUZZ_LIBS_vtrace := -lz -lpthread
FUZZ_MAX_vtrace	:= 8192

FUZZ_SRC_inject	:= fabric/packet/burst.c $(ROCE_SRC) $(EMULATOR_SRC) $(wildcard tests/lib/engine/emu*.c)
FUZZ_LIBS_inject := -lz -lpthread
FUZZ_SRC_script	:= $(filter-out fabric/main.c,$(FABRIC_SRC)) $(TRACES_SRC) $(EMULATOR_SRC)
FUZZ_LIBS_script := -ljson-c -lhogweed -lgmp -lnettle -lm -lz -lpthread -ldl
FUZZ_SRC_join	:= fabric/join/codec.c fabric/join/codec_burst.c fabric/join/codec_text.c fabric/join/seal.c fabric/join/keys.c fabric/join/keys_memory.c $(EMULATOR_SRC)
FUZZ_LIBS_join	:= -lhogweed -lgmp -lnettle -lpthread
FUZZ_SRC_mesh	:= $(WORLD_SRC) $(EMULATOR_SRC) $(wildcard tests/lib/engine/emu*.c)
FUZZ_LIBS_mesh	:= $(WORLD_LIBS) -lpthread
FUZZ_MAX_mesh	:= 512
# libFuzzer's weights of rare features would take a third of the time of such long inputs, for the same coverage.
FUZZ_ARGS_mesh	:= -entropic=0
FUZZ_SRC_wire	:= $(WIRE_SRC) $(EMULATOR_SRC) $(wildcard tests/lib/engine/emu*.c)
FUZZ_LIBS_wire	:= $(WIRE_LIBS) -lpthread
FUZZ_MAX_wire	:= 1024
FUZZ_ARGS_wire	:= -entropic=0
# Tracing of comparisons would take another third: fuzz_wire.c makes right what no mutation finds.
FUZZ_FLAGS_wire	:= -fno-sanitize-coverage=trace-cmp
# A line on stderr for each input would be most of its time; reports come nevertheless.
FUZZ_ARGS_script := -close_fd_mask=2

# FUZZ_SAN= without sanitizers an input takes a third of the time; what the targets check themselves is still checked.
FUZZ_SAN ?= -fsanitize=address,undefined -fno-sanitize-recover=undefined

FUZZ_FLAGS := -std=gnu11 -g $(if $(strip $(FUZZ_SAN)),-O1,-O2) -fsanitize=fuzzer $(FUZZ_SAN) \
	-fsanitize-coverage-ignorelist=tests/fuzz/no_coverage -I. -D_GNU_SOURCE

.PHONY: fuzz FORCE
fuzz: $(addprefix fuzz-,$(FUZZ)) ## libFuzzer on parsers of files and frames; RUNS= FUZZ=

fuzz-%: $(BUILD)/fuzz/fuzz_%
	@rm -rf $(BUILD)/fuzz/corpus_$* && mkdir -p $(BUILD)/fuzz/corpus_$*
	/usr/bin/python3 tests/fuzz/corpus.py $* $(BUILD)/fuzz/corpus_$*
	$< -runs=$(RUNS) -max_len=$(or $(FUZZ_MAX_$*),2048) -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/$*_ \
		$(FUZZ_ARGS_$*) $(BUILD)/fuzz/corpus_$*

# Always made again: what its sources include is not followed here.
$(BUILD)/fuzz/fuzz_%: FORCE
	@mkdir -p $(@D)
	$(call say,CLANG,$@)
	$(Q)clang $(FUZZ_FLAGS) $(FUZZ_FLAGS_$*) -o $@ tests/fuzz/fuzz_$*.c $(FUZZ_SRC_$*) $(FUZZ_LIBS_$*)
