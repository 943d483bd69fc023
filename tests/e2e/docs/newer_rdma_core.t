#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads a page and headers
# docs/reference/newer-rdma-core.md names all that came after rdma-core 44, and what the headers declare is in the lists
# that it is compared with: those that are installed, or of the source tree RDMA_CORE.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
lists=$TOP/tests/data/rdma-core
names=$TOP/tests/lib/py/header_names.py
page=$TOP/docs/reference/newer-rdma-core.md

headers=()
for h in "${RDMA_CORE+$RDMA_CORE/libibverbs/verbs.h}" "${RDMA_CORE+$RDMA_CORE/librdmacm/rdma_cma.h}" \
	"${RDMA_CORE+$RDMA_CORE/librdmacm/rsocket.h}" \
	/usr/include/{infiniband/verbs.h,rdma/rdma_cma.h,rdma/rsocket.h}; do
	[ ! -e "$h" ] || headers+=("$h")
done
tap python3 "$names" check "$page" "$lists"/names-{44,65} "${headers[@]}"
is "there are headers to compare with" "$((${#headers[@]} > 2))" 1

# fails_with PATTERN COMMAND... - it fails, and prints a line `not ok` with the pattern
fails_with() {
	local out pattern=$1
	shift
	! out=$("$@") && grep -q "^not ok .*$pattern" <<<"$out"
}

grep -v '`IBV_FLUSH_GLOBAL`' "$page" >"$TEST_DIR/page.md"
check "a name that the page lacks is found" \
	fails_with "does not name IBV_FLUSH_PERSISTENT" python3 "$names" check "$TEST_DIR/page.md" "$lists"/names-{44,65}
{
	cat "$page"
	echo "| \`ibv_no_such_verb\` | works | rxe |"
} >"$TEST_DIR/page.md"
check "a name that no header has is found" \
	fails_with "names ibv_no_such_verb" python3 "$names" check "$TEST_DIR/page.md" "$lists"/names-{44,65}
echo 'int ibv_verb_of_tomorrow(struct ibv_type_of_tomorrow *t); /* ibv_comment */' >"$TEST_DIR/verbs.h"
check "a header that is newer than the lists is found" \
	fails_with "declares ibv_verb_of_tomorrow" python3 "$names" check "$page" "$lists"/names-{44,65} "$TEST_DIR/verbs.h"
done_testing
