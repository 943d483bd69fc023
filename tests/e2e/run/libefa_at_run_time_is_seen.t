#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: devices of one host
# A program that loads libefa at run time is seen as one that is linked with it: recorded, checked, hit by rules on real
# devices, and refused what leads past verbs. A libefa that it names by its path is the one that its calls reach.
export RDMAEMU_PROFILE=efa
. "$(dirname "$0")/../../lib/lib.sh"
need gcc

R=$RDMAEMU
program=$T/app_srd_efadv
cd "$TEST_DIR" || exit 1

# passes COMMAND... - the program has run all of its checks there
passes() {
	"$@" -- "$program" >out 2>err && ! grep -q '^not ok' out && grep -q '^ok' out
}
check "the program runs when it is recorded" passes limit "$R" record -o trace || cat out err
is "the trace has its SRD queue pairs" "$(limit "$R" trace show trace |
	grep -c ' ibv_create_qp\(_ex\)\? .*attr.qp_type=IBV_QPT_DRIVER.* = qp[0-9]')" 2
is "and its CQs" "$(limit "$R" trace show trace | grep -c ' ibv_create_cq_ex .* = cq[0-9]')" 2
check "it runs under the check" passes limit "$R" run --check=errors,warnings || cat out err
# Its requests fail, and the queue pairs go on; it leaves objects to the end of the process.
is "which finds nothing that the program has not done" "$(grep '^rdmaemu: [ew]' err | grep -v ' OBJECT:LEAK:EXIT: ')" ""

echo "fail call=ibv_create_qp_ex errno=ENOMEM" >rules
emu "$R" run --real --fresh --scenario rules --must-fire -- "$program" >out 2>err
is "a rule fails its call" "$(grep SRD err)" "no SRD queue pair: Cannot allocate memory"

# --- a stand-in for libefa, which the shim would hide: the tap alone is preloaded

cat >efa.c <<'END'
#include <stdint.h>

int efadv_query_device(void *ctx, void *attr, uint32_t len)
{
	return 42;
}

int efadv_query_qp_wqs(void *qp, void *sq, void *rq, uint32_t len)
{
	return 0;
}

int efadv_query_cq(void *cq, void *attr, uint32_t len)
{
	return 0;
}
END
cat >efa.map <<'END'
EFA_1.1 { global: efadv_query_device; local: *; };
EFA_1.4 { global: efadv_query_qp_wqs; efadv_query_cq; };
END
cat >late.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int query(void *, void *, uint32_t);

int main(int argc, char **argv)
{
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	query *device = (query *)dlsym(lib, "efadv_query_device"), *cq = (query *)dlvsym(lib, "efadv_query_cq", "EFA_1.4");
	int (*wqs)(void *, void *, void *, uint32_t) = dlsym(lib, "efadv_query_qp_wqs");
	query *depth = (query *)dlsym(lib, "efadv_get_max_sq_depth");

	if (!device || !cq || !wqs || !depth)
		return 1;
	printf("query: %d\n", device(NULL, NULL, 0));
	printf("queues: %s\n", strerror(wqs(NULL, NULL, NULL, 0)));
	printf("CQ: %s\n", strerror(cq(NULL, NULL, 0)));
	printf("a function that it has not: %s\n", strerror(-depth(NULL, NULL, 0)));
	return 0;
}
END
gcc -w -shared -fPIC -Wl,-soname,libefa.so.1 -Wl,--version-script=efa.map -o libefa.so.1 efa.c &&
	gcc -w -o late late.c -ldl || {
	not_ok "gcc makes the programs"
	done_testing
}
tap=${SHIM%/*}/librdmaemu-tap.so

# late POLICY - the program with the stand-in, as --real-direct=POLICY runs it
late() {
	RDMAEMU_REAL_DIRECT=$1 LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$tap limit ./late ./libefa.so.1 2>err
}
is "allowed: the file that the program has named answers" "$(late allow)" "query: 42
queues: Success
CQ: Success
a function that it has not: Operation not supported"
is "hidden: it supports nothing" "$(late hide)" "query: 95
queues: Operation not supported
CQ: Operation not supported
a function that it has not: Operation not supported"
is "refused: but what leads past verbs" "$(late refuse)" "query: 42
queues: Operation not supported
CQ: Operation not supported
a function that it has not: Operation not supported"
is "lines say so" "$(cat err)" "rdmaemu: late: efadv_query_qp_wqs: refused: nobody sees what goes past verbs
rdmaemu: late: efadv_query_cq: refused: nobody sees what goes past verbs"
done_testing
