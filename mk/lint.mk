# SPDX-License-Identifier: MIT

LINT_DIRS := emulator traces fabric libshim libctl libtap libdispatch tests
LINT_SRC := $(call sources,$(LINT_DIRS))
LINT_ALL := $(LINT_SRC) $(sort $(shell find $(LINT_DIRS) include -name '*.h'))

.PHONY: lint lint-deps format-deps tidy cppcheck prose format format-check
lint: prose tidy cppcheck ## prose, clang-tidy and cppcheck

# Constructions and lines that docs, man pages, comments and messages must not have: mk/prose.words.
prose:
	@python3 mk/prose.py

# The headers of libraries are needed, too.
lint-deps:
	@$(if $(NO_DEPS),:,tests/deps.sh lint)

format-deps:
	@$(if $(NO_DEPS),:,tests/deps.sh format)

# Exclusions of clang-tidy stand in .clang-tidy, each with its reason. One file at a time: with
# several, clang-tidy 14 takes va_start() for something else from the second on.
tidy: lint-deps
	@printf '%s\n' $(LINT_SRC) | xargs -P 2 -n 1 sh -c \
		'clang-tidy --quiet "$$@" -- -std=gnu11 -I. -Iinclude -D_GNU_SOURCE 2>/dev/null' tidy

# missingIncludeSystem: system headers are not needed for what cppcheck looks for.
# unusedFunction is off: cppcheck reads one file at a time.
# normalCheckLevel...: tells how deep it looked, not about the code.
# unusedStructMember: structs of shared memory have padding and reserved words.
# variableScope: declarations stand at the head of a block here, as in the kernel.
cppcheck: lint-deps
	@cppcheck --quiet --std=c11 --language=c -I. -Iinclude -D_GNU_SOURCE --inline-suppr --error-exitcode=1 \
		-j 2 --enable=warning,performance,portability \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--suppress=unusedStructMember --suppress=variableScope $(LINT_SRC)

format: format-deps ## format all C files
	@clang-format -i $(LINT_ALL)

format-check: format-deps ## report C files that are not formatted
	@clang-format --dry-run -Werror $(LINT_ALL)
