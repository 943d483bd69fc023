# SPDX-License-Identifier: MIT
#
# tests/litmus/: the protocols of docs/design/memory-order.md under a weak memory model. Their sources are compiled as
# for the thread sanitizer, whose library tests/litmus/hooks.c replaces, and as for a CPU that reorders stores.

L := $(T)/litmus
LITMUS_FLAGS = $(ALL_CFLAGS) -fsanitize=thread -Wno-tsan -DCPU_KEEPS_STORE_ORDER=0 -Dmemmove=model_memmove \
	-Dcalloc=model_calloc
LITMUS_TOKEN := tests/litmus/token.c $(addprefix emulator/,engine/token.c engine/token_queue.c engine/relay_serve.c \
	doorbell.c)
LITMUS_COMMIT := tests/litmus/commit.c $(addprefix emulator/,queue/cq.c queue/commit.c engine/redo.c)
LITMUS_SEQUENCE := tests/litmus/sequence.c emulator/clock.c fabric/core/clock.c libshim/memory/shadow.c
LITMUS_COPY := tests/litmus/copy.c $(addprefix fabric/proto/,vmcopy.c vm_span.c vm_forced.c)
LITMUS_MODEL := $(call objs,$(addprefix tests/litmus/,model.c undo.c death.c hooks.c))
LITMUS_MUTANTS := $(patsubst tests/litmus/mutants/%.sed,%,$(wildcard tests/litmus/mutants/*.sed))
litmus_objs = $(patsubst %.c,$(L)/obj/%.o,$(1))

# The sanitizers of gcc exclude each other, and clang's calls other functions.
ifeq ($(SAN)$(findstring clang,$(CC)),)
LITMUS_BIN := $(addprefix $(L)/,token commit sequence copy) $(LITMUS_MUTANTS:%=$(L)/mutants/%/program)
endif

tests: $(LITMUS_BIN)

$(L)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(LITMUS_FLAGS) -MMD -MP -c -o $@ $<

# The rest of the emulator, without instrumentation: commits and copies call it.
$(L)/emulator.a: $(filter-out $(call objs,$(LITMUS_COMMIT)),$(EMULATOR_OBJ))
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(L)/token: $(call litmus_objs,$(LITMUS_TOKEN)) $(LITMUS_MODEL)
$(L)/commit: $(call litmus_objs,$(LITMUS_COMMIT)) $(LITMUS_MODEL) $(L)/emulator.a
$(L)/sequence: $(call litmus_objs,$(LITMUS_SEQUENCE)) $(LITMUS_MODEL)
$(L)/copy: $(call litmus_objs,$(LITMUS_COPY)) $(LITMUS_MODEL) $(L)/emulator.a
$(L)/token $(L)/commit $(L)/sequence $(L)/copy:
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

# A mutant of a header is found before the header; one of a source is compiled in its place.
litmus_source = $(shell sed -n 's/^\# source: //p' tests/litmus/mutants/$(1).sed)
litmus_program = $(shell sed -n 's/^\# program: //p' tests/litmus/mutants/$(1).sed)
litmus_compiled = $(if $(filter %.h,$(2)),tests/litmus/$(3).c,$(2))

define litmus_mutant
$(L)/mutants/$(1)/$(2): $(2) tests/litmus/mutants/$(1).sed
	@mkdir -p $$(@D)
	@sed -f tests/litmus/mutants/$(1).sed $$< >$$@
	@if cmp -s $$< $$@; then echo 'tests/litmus/mutants/$(1).sed changes nothing in $$<: adapt it' >&2; rm $$@; exit 1; fi

$(L)/mutants/$(1)/program: $(L)/mutants/$(1)/$(2) $(L)/$(3)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(LITMUS_FLAGS) -iquote $(L)/mutants/$(1) -c -o $$@.o \
		$(if $(filter %.h,$(2)),tests/litmus/$(3).c,$$<)
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$@.o $$(filter-out \
		$(call litmus_objs,$(call litmus_compiled,$(1),$(2),$(3))),$(4))
endef
litmus_inputs_token := $(call litmus_objs,$(LITMUS_TOKEN)) $(LITMUS_MODEL)
litmus_inputs_sequence := $(call litmus_objs,$(LITMUS_SEQUENCE)) $(LITMUS_MODEL)
litmus_inputs_copy := $(call litmus_objs,$(LITMUS_COPY)) $(LITMUS_MODEL) $(L)/emulator.a
litmus_inputs_commit := $(call litmus_objs,$(LITMUS_COMMIT)) $(LITMUS_MODEL) $(L)/emulator.a
$(foreach m,$(LITMUS_MUTANTS),$(eval $(call litmus_mutant,$(m),$(call litmus_source,$(m)),$(call \
	litmus_program,$(m)),$(litmus_inputs_$(call litmus_program,$(m))))))
