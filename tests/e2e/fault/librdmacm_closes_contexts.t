#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one node
# waits
# librdmacm opens a context for an identifier, and closes it with the last one if the device was removed: rules on real
# devices raise events on it as long as it is open, and nothing is left of it, nor of its PDs. The emulator of an outer
# run stands for the real devices, with a library before it that does as librdmacm.
. "$(dirname "$0")/../../lib/lib.sh"
need gcc

R=$RDMAEMU
cd "$TEST_DIR" || exit 1

cat >cm.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)src;
	(void)dst;
	(void)ms;
	id->verbs = list && list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	id->pd = id->verbs ? ibv_alloc_pd(id->verbs) : NULL;
	return id->pd ? 0 : -1;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	int (*next)(struct rdma_cm_id *) = (int (*)(struct rdma_cm_id *))dlsym(RTLD_NEXT, "rdma_destroy_id");

	if (ibv_dealloc_pd(id->pd) || ibv_close_device(id->verbs))
		return -1;
	id->pd = NULL;
	id->verbs = NULL;
	return next(id);
}
EOF
gcc -shared -fPIC -o cm.so cm.c

cat >ids.c <<'EOF'
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int say(const char *word)
{
	return puts(word) < 0 || fflush(stdout);
}

static struct rdma_cm_id *id_make(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) &&
	    !rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000))
		return id;
	say(strerror(errno));
	exit(1);
}

static int event_get(struct ibv_context *ctx)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, 60000) != 1 || ibv_get_async_event(ctx, &event))
		return 1;
	ibv_ack_async_event(&event);
	return say(ibv_event_type_str(event.event_type));
}

/* ids N event|wait|pd: N identifiers, one after another; then an event of one more, a line, or a PD */
int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0;
	struct rdma_cm_id *id;
	char byte;

	while (n--)
		if (rdma_destroy_id(id_make()))
			return say(strerror(errno)), 1;
	if (!strcmp(argv[2], "event")) {
		id = id_make();
		return say("ready") || event_get(id->verbs) || rdma_destroy_id(id);
	}
	if (!strcmp(argv[2], "wait"))
		return say("ready") || read(0, &byte, 1) < 0;
	return say(ibv_alloc_pd(ibv_open_device(ibv_get_device_list(NULL)[0])) ? "a PD" : strerror(errno));
}
EOF
gcc -o ids ids.c -libverbs -lrdmacm

# ids FABRIC ARGS... - run the program with these, above the library, in `rdmaemu run --real` with the rules
ids() {
	# shellcheck disable=SC2016
	emu sh -c 'LD_PRELOAD="$0 $LD_PRELOAD" exec "$@"' "$PWD/cm.so" \
		"$R" run --real --fabric "$1" --scenario rules -- ./ids "${@:2}"
}

# is_ready PID - whether the program is, or has ended
is_ready() {
	grep -q ^ready out || ! kill -0 "$1" 2>/dev/null
}

echo 'event QP_FATAL at=3600s' >rules
ids many 200 event >out 2>&1 &
program=$!
wait_for 60 is_ready $program
limit "$R" fault add --fabric many event IBV_EVENT_CLIENT_REREGISTER port=1 >/dev/null
wait $program
is "after 200 contexts, the next one gets an event" "$(grep -v "^rdmaemu: fault" out)" "ready
client reregistration"

mkfifo go
: >out
ids closed 1 wait <go >out 2>&1 &
program=$!
exec 7>go
wait_for 60 is_ready $program
for event in DEVICE_FATAL IBV_EVENT_PORT_ERR; do
	limit "$R" fault add --fabric closed "event $event" >/dev/null
done
is "nothing is raised on a context that is closed" \
	"$(limit "$R" fault list --fabric closed --json | json "[r['hits'] for r in d['faults']]")" "[0, 0, 0]"
is "the fabric shows no device" \
	"$(limit "$R" status --fabric closed -v | grep -o "no real device")" "no real device"
exec 7>&-
wait $program
is "and the program goes on" $? 0

echo "limit max_pd=1" >rules
is "its PD does not count" "$(ids limits 1 pd 2>&1)" "a PD"
done_testing
