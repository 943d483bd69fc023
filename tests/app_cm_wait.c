/* SPDX-License-Identifier: MIT */
/*
 * Wait until somebody has a port of the rdma_cm: no other way to see from outside that a server listens.
 *	app_cm_wait tcp|udp|ib PORT PID		fails when PID has gone
 */
#include "tests/rdmacm.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool taken(enum rdma_port_space ps, unsigned int port)
{
	static const char *const ips[] = { "127.0.0.1", "::1" };
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	bool ret = false;

	for (int i = 0; i < 2 && !ret; i++) {
		if (rdma_create_id(NULL, &id, NULL, ps))
			die("rdma_create_id: %s", strerror(errno));
		cm_addr(ips[i], port, &ss);
		ret = rdma_bind_addr(id, (struct sockaddr *)&ss) &&
		      (errno == EADDRINUSE || (errno == EADDRNOTAVAIL && port));
		rdma_destroy_id(id);
	}
	return ret;
}

int main(int argc, char **argv)
{
	enum rdma_port_space ps = RDMA_PS_TCP;

	if (argc != 4)
		die("app_cm_wait tcp|udp|ib PORT PID");
	if (!strcmp(argv[1], "udp"))
		ps = RDMA_PS_UDP;
	else if (!strcmp(argv[1], "ib"))
		ps = RDMA_PS_IB;
	while (!taken(ps, (unsigned int)atoi(argv[2]))) {
		if (kill(atoi(argv[3]), 0))
			return 1;
		usleep(5000);
	}
	/* Whoever binds is about to listen. */
	usleep(50000);
	return 0;
}
