# SPDX-License-Identifier: MIT
#
# `make install` and `make uninstall` go by one list, INSTALLED: MODE:FILE:PLACE, the place below PREFIX, or
# link:TARGET:PLACE for a symbolic link. LIBDIR= is where programs that link librdmaemu-ctl find it (lib); what the
# command preloads is always in lib/rdmaemu, where it looks for it.

LIBDIR	   ?= lib

SHELLS	   := $(BUILD)/completion
COMPLETION := $(addprefix $(SHELLS)/,rdmaemu.bash _rdmaemu rdmaemu.fish)
CTL_PC	   := $(BUILD)/lib/rdmaemu-ctl.pc
MAN	   := $(wildcard man/*.[1-9])

man_place = share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))

INSTALLED := \
	755:$(BIN):bin/rdmaemu \
	755:$(REPLAY):bin/rdmaemu-replay \
	644:$(LIB):lib/rdmaemu/librdmaemu.so \
	644:$(TAP):lib/rdmaemu/librdmaemu-tap.so \
	644:$(DISPATCH):lib/rdmaemu/librdmaemu-dispatch.so \
	644:$(CTL_SO):$(LIBDIR)/$(notdir $(CTL_SO)) \
	link:$(notdir $(CTL_SO)):$(LIBDIR)/$(CTL_ABI) \
	link:$(CTL_ABI):$(LIBDIR)/$(notdir $(CTL)).so \
	644:$(CTL).a:$(LIBDIR)/$(notdir $(CTL)).a \
	644:$(CTL_PC):$(LIBDIR)/pkgconfig/$(notdir $(CTL_PC)) \
	644:include/rdmaemu.h:include/rdmaemu.h \
	644:include/rdmaemu-test.h:include/rdmaemu-test.h \
	$(foreach page,$(MAN),644:$(page):$(call man_place,$(page))) \
	link:rdmaemu.1:share/man/man1/rdmaemu-replay.1 \
	$(foreach file,$(wildcard profiles/*.conf),644:$(file):share/rdmaemu/profiles/$(notdir $(file))) \
	$(foreach file,$(wildcard traces/wireshark/rdmaemu/*),644:$(file):share/wireshark/profiles/rdmaemu/$(notdir $(file))) \
	644:traces/wireshark/srd.lua:share/rdmaemu/srd.lua \
	644:$(SHELLS)/rdmaemu.bash:share/bash-completion/completions/rdmaemu \
	644:$(SHELLS)/_rdmaemu:share/zsh/site-functions/_rdmaemu \
	644:$(SHELLS)/rdmaemu.fish:share/fish/vendor_completions.d/rdmaemu.fish

# Folders that nobody else has files in: removed with the last file.
INSTALLED_FOLDERS := lib/rdmaemu share/rdmaemu/profiles share/rdmaemu share/wireshark/profiles/rdmaemu \
	share/wireshark/profiles share/wireshark

$(SHELLS)/rdmaemu.bash: SHELL_NAME := bash
$(SHELLS)/_rdmaemu: SHELL_NAME := zsh
$(SHELLS)/rdmaemu.fish: SHELL_NAME := fish
# The command prints them. Where it is built for another machine, a program for this one does it with the same sources.
PRINT_COMPLETION := $(BIN) completion
ifneq ($(CROSS),)
PRINT_COMPLETION := $(BUILD)/host/print_completion
$(COMPLETION): $(PRINT_COMPLETION)
endif
$(COMPLETION): $(BIN)
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)$(PRINT_COMPLETION) $(SHELL_NAME) >$@.$$$$ && mv $@.$$$$ $@

# The tables name functions of the whole command, which the program does not call: they stay undefined.
PRINT_COMPLETION_SRC := mk/print_completion.c $(addprefix fabric/,cli/completion.c cli/verbs.c common/opts.c \
	common/opts_store.c common/profile_builtin.c fault/keys.c)
$(BUILD)/host/print_completion: $(PRINT_COMPLETION_SRC) $(BIN)
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)
	$(Q)$(HOSTCC) -std=gnu11 -O1 $(WARN) -I. -D_GNU_SOURCE -no-pie -Wl,--unresolved-symbols=ignore-all -o $@ \
		$(PRINT_COMPLETION_SRC)

all: $(COMPLETION)

# Made anew each time: PREFIX and LIBDIR may be others. Under another name first: several may install at the same time.
$(CTL_PC): libctl/rdmaemu-ctl.pc.in FORCE
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' $< >$@.$$$$ && mv $@.$$$$ $@

.PHONY: install uninstall
install: all $(CTL_PC) ## install to PREFIX (/usr/local); DESTDIR= goes before it
	$(Q)set -e; for entry in $(INSTALLED); do \
		mode=$${entry%%:*}; entry=$${entry#*:}; from=$${entry%%:*}; \
		to='$(DESTDIR)$(PREFIX)'/$${entry#*:}; \
		echo "  INSTALL	$$to"; \
		mkdir -p "$${to%/*}"; \
		if [ $$mode = link ]; then ln -sfn "$$from" "$$to"; else install -m $$mode "$$from" "$$to"; fi; \
	done

uninstall: ## remove what install has installed; the same PREFIX= and DESTDIR=
	$(Q)set -e; for entry in $(INSTALLED); do \
		entry=$${entry#*:}; to='$(DESTDIR)$(PREFIX)'/$${entry#*:}; \
		echo "  REMOVE	$$to"; \
		rm -f "$$to"; \
	done
	$(Q)cd '$(DESTDIR)$(PREFIX)' && rmdir $(INSTALLED_FOLDERS) 2>/dev/null || true
