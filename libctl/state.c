/* SPDX-License-Identifier: MIT */
/**
 * DOC: counters of ports, objects of programs, and the fabric's status.
 */
#include "libctl/ctl.h"

#include "fabric/proto/port_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets m->dev to the device. */
static int ctl_device_find(struct rdmaemu *r, const char *node, const char *device,
			   struct proto_msg *m)
{
	const char *own = node ? node : getenv(PROTO_NODE_ENV);
	u32 i;

	for (i = 0; i < PROTO_MAX_DEVS; i++) {
		*m = (struct proto_msg){ .op = PROTO_DEV, .ask.number = i };
		if (snprintf(m->ask.node, sizeof(m->ask.node), "%s", own ? own : "") >=
		    (int)sizeof(m->ask.node))
			break;
		if (ctl_handle_ask(r, m, NULL))
			return -1;
		if (m->ret)
			break;
		m->dev.name[sizeof(m->dev.name) - 1] = '\0';
		if (!device || !strcmp(m->dev.name, device))
			return 0;
	}
	return ctl_fail(r, ENODEV, "counter: node %s has no device %s", own ? own : "node0",
			device ? device : "at all");
}

int rdmaemu_counter(struct rdmaemu *r, const char *node, const char *device, unsigned int port,
		    const char *name, uint64_t *value)
{
	struct proto_msg m;
	u32 i;

	if (ctl_device_find(r, node, device, &m))
		return -1;
	if (!port || port > m.dev.n_ports || port > HCA_MAX_PORTS)
		return ctl_fail(r, ENODEV, "counter: device %s has no port %u", m.dev.name, port);
	for (i = 0; counter_name(i); i++)
		if (!strcmp(counter_name(i), name)) {
			*value = m.dev.port[port].counters[i];
			return 0;
		}
	return ctl_fail(r, ENOENT, "counter '%s': no such counter", name);
}

int64_t rdmaemu_objects(struct rdmaemu *r, int pid)
{
	struct proto_msg m = { .op = PROTO_OBJECTS };

	m.ask.number = (u32)(pid ? pid : getpid());
	if (ctl_handle_ask(r, &m, NULL))
		return -1;
	/* A process that has opened no device yet has no object. */
	if (m.ret == -ESRCH)
		return 0;
	return m.ret ? ctl_refused(r, "objects", m.ret) : (int64_t)m.ask.number;
}

/* Return: the contents of a file, or NULL with errno. */
static char *ctl_status_read(int fd)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st))
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return NULL;
	n = pread(fd, text, (size_t)st.st_size, 0);
	if (n != st.st_size) {
		free(text);
		errno = n < 0 ? errno : EIO;
		return NULL;
	}
	text[n] = '\0';
	return text;
}

char *rdmaemu_status(struct rdmaemu *r)
{
	struct proto_msg m = { .op = PROTO_STATUS, .flags = PROTO_F_JSON };
	char *text;
	int fd = -1, err;

	if (ctl_handle_ask(r, &m, &fd))
		return NULL;
	if (m.ret || fd < 0) {
		if (fd >= 0)
			close(fd);
		ctl_refused(r, "status", m.ret ? m.ret : -EPROTO);
		return NULL;
	}
	text = ctl_status_read(fd);
	err = errno;
	close(fd);
	if (!text)
		ctl_fail(r, err, "status: %s", strerror(err));
	return text;
}
