# SPDX-License-Identifier: MIT

LINT_SRC := $(wildcard emulator/*.c fabric/*.c libshim/*.c tests/*.c tests/bench/*.c)
LINT_ALL := $(LINT_SRC) $(wildcard emulator/*.h fabric/*.h libshim/*.h tests/*.h tests/bench/*.h)

.PHONY: lint tidy cppcheck format format-check
lint: tidy cppcheck

# Exclusions of clang-tidy stand in .clang-tidy, each with its reason. One file at a time: with
# several, clang-tidy 14 takes va_start() for something else from the second on.
tidy:
	@printf '%s\n' $(LINT_SRC) | xargs -P 2 -n 1 sh -c \
		'clang-tidy --quiet "$$@" -- -std=gnu11 -I. -D_GNU_SOURCE 2>/dev/null' tidy

# missingIncludeSystem: system headers are not needed for what cppcheck looks for.
# unusedFunction is not asked for: files are looked at one by one.
# normalCheckLevel...: tells how deep it looked, not about the code.
# unusedStructMember: structs of shared memory have padding and reserved words.
# variableScope: declarations stand at the head of a block here, as in the kernel.
cppcheck:
	@cppcheck --quiet --std=c11 --language=c -I. -D_GNU_SOURCE --inline-suppr --error-exitcode=1 \
		-j 2 --enable=warning,performance,portability \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--suppress=unusedStructMember --suppress=variableScope $(LINT_SRC)

format:
	clang-format -i $(LINT_ALL)

format-check:
	@clang-format --dry-run -Werror $(LINT_ALL)
