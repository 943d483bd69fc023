/* SPDX-License-Identifier: MIT */
/**
 * DOC: why a program cannot use the fabric.
 *
 * Programs see an errno value, of which few print more than "no device found". Two causes are
 * common: a program that root has started became another user before it opened a device, so that
 * the fabric, which serves its own user only, is out of reach; and a limit of the machine.
 */
#include "libshim/client/connect_error.h"

#include "emulator/hca.h"
#include "emulator/seg.h"
#include "fabric/proto/proto.h"
#include "fabric/proto/rlimit.h"
#include "fabric/proto/version.h"
#include "libshim/interpose/syscall.h"

#include <errno.h>
#include <stdio.h>

/* Whether the fabric process is another user's. */
static bool fabric_is_others(int sock, int err)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (sock < 0)
		return err == -EACCES || err == -EPERM;
	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) && cred.uid != geteuid();
}

void shim_connect_explain(const char *path, int sock, int err)
{
	static u32 explained;
	char limit[RLIMIT_TEXT];

	if (err == -ENOSYS || exchange(&explained, 1))
		return;
	if (fabric_is_others(sock, err))
		fprintf(stderr,
			"rdmaemu: user %u cannot use another user's fabric (%s): open a device "
			"before dropping privileges, or start the program with 'rdmaemu run' as "
			"user %u\n",
			(unsigned)geteuid(), path, (unsigned)geteuid());
	else if (err == -EPROTONOSUPPORT)
		fprintf(stderr,
			"rdmaemu: the fabric (%s) is of another version than this library, which "
			"is %s (protocol %u): start the program with the 'rdmaemu run' of that "
			"version\n",
			path, RDMAEMU_VERSION, PROTO_VERSION);
	else if (err == -EPERM)
		fprintf(stderr,
			"rdmaemu: the isolated fabric (%s) does not have this program on the node "
			"that it names (%s): start it with 'rdmaemu run --node', outside of its "
			"other programs\n",
			path, PROTO_NODE_ENV);
	else
		fprintf(stderr, "rdmaemu: cannot use the fabric (%s): %s%s; see 'rdmaemu doctor'\n",
			path, strerror(-err),
			rlimit_explain(err, sizeof(struct hca) + SEG_FIRST, limit, sizeof(limit)));
}

void shim_grow_explain(u64 size, int err)
{
	static u32 explained;
	char limit[RLIMIT_TEXT];

	if (exchange(&explained, 1))
		return;
	rlimit_explain(err, size, limit, sizeof(limit));
	if (err == -EFBIG && !limit[0])
		snprintf(limit, sizeof(limit),
			 "; the fabric process has a limit of file size (ulimit -f)");
	fprintf(stderr, "rdmaemu: cannot map %llu KiB for this program's queues: %s%s\n",
		(unsigned long long)size >> 10, strerror(-err), limit);
}
