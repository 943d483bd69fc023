#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 10
# settings: one: each suite runs on a fabric of its own
# rdmaemu-test.h, as it is installed, with CUnit, Check, cmocka and GoogleTest: the project of examples/ passes; tests
# that shall fail do, and say why.
. "$(dirname "$0")/../../lib/lib.sh"
need pkg-config "${CC:-cc}" "${CXX:-g++}"
pkg-config --exists check cmocka gtest_main || skip_all "check, cmocka and GoogleTest are not installed"

root=$TEST_DIR/root
check "make install" make -C "$TOP" --no-print-directory BUILD="${BUILD#"$TOP/"}" install DESTDIR="$root" PREFIX=/usr
export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig LD_LIBRARY_PATH=$root/usr/lib RDMAEMU CFLAGS CXXFLAGS
# A pkg-config file says /usr, where the installed tree is not.
sed -i "s|=/usr|=$root/usr|" "$PKG_CONFIG_PATH/rdmaemu-ctl.pc"
CFLAGS='-O1 -g -Wall -Wextra -Werror'
# A build under sanitizers preloads a library that needs their runtime.
[ "$SLOW" = 1 ] || CFLAGS+=' -fsanitize=address,undefined'
CXXFLAGS=$CFLAGS

cp -r "$TOP/examples/suites/c" "$TEST_DIR/passes"
check "the example's suites pass" limit make -C "$TEST_DIR/passes" check
for suite in cunit check cmocka googletest; do
	check "$suite is one of them" test -x "$TEST_DIR/passes/test_$suite"
done

# --- suites that fail ---

cp -r "$TOP/examples/suites/c" "$TEST_DIR/fails"
cat >"$TEST_DIR/fails/cases.h" <<'END'
#include "loopback.h"
#include <rdmaemu-test.h>

static void case_write(void)
{
	struct rdmaemu_test t;

	RDMAEMU_TEST_BEGIN(&t);
	RDMAEMU_TEST_FAULT(&t, "drop opcode=ATOMIC_ACKNOWLEDGE");
	RDMAEMU_TEST_END(&t);
}

static void case_lost_packet(void)
{
	struct rdmaemu_test t;

	RDMAEMU_TEST_BEGIN(&t);
	RDMAEMU_ASSERT_COUNTER(&t, "retry_exceeded_err", 0);
	RDMAEMU_TEST_FAULT(&t, "dorp");
}

/* Its first objects stay: the count of the next case begins with them. */
static void case_dead_link(void)
{
	static struct loopback l;
	struct rdmaemu_test t;

	RDMAEMU_TEST_BEGIN(&t);
	loopback_begin(&l);
	RDMAEMU_ASSERT_NO_ERROR(&t);
	RDMAEMU_ASSERT_NO_LEAK(&t);
}

static void case_no_resources(void)
{
	struct rdmaemu_test t;
	struct loopback l;

	RDMAEMU_TEST_BEGIN(&t);
	RDMAEMU_TEST_FAULT(&t, "fail call=ibv_alloc_pd errno=ENOMEM");
	loopback_begin(&l);
	loopback_end(&l);
	RDMAEMU_ASSERT_ERROR(&t, "IBV_WC_RETRY_EXC_ERR");
}
END
sed -i 's/^#define EXPECT.*//' "$TEST_DIR"/fails/test_*.c*
for suite in cunit check cmocka googletest; do
	check "$suite: it builds" make -C "$TEST_DIR/fails" "test_$suite"
	status=0
	limit "$RDMAEMU" run --fresh -- "$TEST_DIR/fails/test_$suite" >"$TEST_DIR/out" 2>&1 || status=$?
	[ $status != 0 ] && ok "$suite: it fails" || not_ok "$suite: it fails" "$(cat "$TEST_DIR/out")"
	while read -r line; do
		grep -qF "$line" "$TEST_DIR/out" && ok "$suite: $line" || not_ok "$suite: $line" "$(cat "$TEST_DIR/out")"
	done <<-'END'
		fault rule 'drop opcode=ATOMIC_ACKNOWLEDGE' has never fired
		'dorp': expected an action
		the test leaves 5 objects
		the journal has no IBV_WC_RETRY_EXC_ERR, but
	END
done
no_fabric() {
	local out
	out=$(env -u RDMAEMU_DIR RDMAEMU_DIR="$TEST_DIR/none" "$TEST_DIR/passes/test_cmocka" 2>&1) && return 1
	grep -qF "no fabric: run the tests with 'rdmaemu run --fresh'" <<<"$out"
}
check "without a fabric a test says what to do" no_fabric
done_testing
