/* SPDX-License-Identifier: MIT */
/**
 * DOC: clients: how they are admitted, and how the fabric process notices that they die.
 *
 * A client is dead when its process has exited (pidfd) or its connection has ended. The latter
 * happens also when the process has executed another program, whose image knows nothing of the old
 * one's objects.
 */
#include "emulator/init.h"
#include "fabric/server/clients.h"
#include "fabric/capture/capture.h"
#include "fabric/fault/action.h"
#include "fabric/nodes/nodes.h"
#include "fabric/proto/vmcopy.h"
#include "fabric/server/park.h"
#include "fabric/server/quota.h"
#include "fabric/server/server.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * How long a process that has hung up, and whose memory is out of reach, has to leave the engine.
 */
#define GRACE_NS (2 * NSEC_PER_SEC)

/* Find out whether this process can reach the client's memory. */
static void client_probe(struct fabric *f, struct client *cl)
{
	struct hca_client *h = &f->hca->client[cl->id];

	h->fabric_reach = h->fabric_pid > 0 && h->cookie_addr &&
			  !vm_probe(h->fabric_pid, h->cookie_addr, h->cookie);
}

static void client_on_exit(struct fabric *f, struct watch *w, u32 events)
{
	struct client *cl = container_of(w, struct client, exit);

	(void)events;
	loop_watch_close(w);
	cl->exited = true;
	client_die(f, cl);
}

int client_extend_segment(struct client *cl, u64 size)
{
	struct stat st;

	if (size <= cl->seg_size)
		return 0;
	if (size > SEG_SIZE)
		return -EINVAL;
	/* The client may extend it, too. Nobody can shorten it. */
	if (ftruncate(cl->seg_fd, (off_t)size) &&
	    (errno != EPERM || fstat(cl->seg_fd, &st) || (u64)st.st_size < size))
		return -errno;
	cl->seg_size = size;
	return 0;
}

/* Map @size bytes of the segment. */
static int client_map_segment(struct client *cl, u64 size)
{
	int ret = client_extend_segment(cl, size);
	void *p;

	if (ret)
		return ret;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, cl->seg_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	seg_map_add(&cl->map, p, size);
	return 0;
}

void *client_seg(struct fabric *f, struct client *cl)
{
	u64 used = load_relaxed(&f->hca->client[cl->id].seg_used);

	if (likely(used <= cl->map.mapped))
		return cl->map.base;
	if (used > SEG_SIZE || client_map_segment(cl, seg_map_size(used)))
		return NULL;
	return cl->map.base;
}

/* An empty segment, which cannot shrink while processes have it mapped. */
static int client_make_segment(struct client *cl)
{
	int ret;

	cl->seg_fd = memfd_create("rdmaemu-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (cl->seg_fd < 0)
		return -errno;
	if (fcntl(cl->seg_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL))
		return -errno;
	ret = client_map_segment(cl, SEG_FIRST);
	cl->seg = cl->map.base;
	return ret;
}

static void client_release(struct fabric *f, struct client *cl)
{
	int i;

	loop_watch_close(&cl->exit);
	/* The program may live on and keep its descriptor. */
	loop_watch_remove(f, &cl->kick);
	loop_watch_close(&cl->kick);
	seg_map_drop(&cl->map);
	lent_map_drop(&cl->lent);
	cl->seg = NULL;
	if (cl->seg_fd >= 0)
		close(cl->seg_fd);
	if (cl->helper_fd >= 0)
		close(cl->helper_fd);
	if (cl->lent_fd >= 0)
		close(cl->lent_fd);
	if (cl->events_fd >= 0)
		close(cl->events_fd);
	for (i = 0; cl->chan_fd && i < (int)SEG_MAX_CHANS; i++)
		if (cl->chan_fd[i] >= 0)
			close(cl->chan_fd[i]);
	cl->seg_fd = cl->helper_fd = cl->lent_fd = cl->events_fd = -1;
}

static struct client *client_new(void)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl)
		return NULL;
	cl->exit.fd = cl->kick.fd = cl->seg_fd = cl->helper_fd = cl->lent_fd = -1;
	cl->events_fd = -1;
	cl->chan_fd = malloc(SEG_MAX_CHANS * sizeof(int));
	if (!cl->chan_fd) {
		free(cl);
		return NULL;
	}
	memset(cl->chan_fd, 0xff, SEG_MAX_CHANS * sizeof(int));
	return cl;
}

/* Names of programs are printed on terminals. */
static void client_copy_name(char *to, const char *from, size_t size)
{
	size_t i;

	for (i = 0; i < size - 1 && from[i]; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[i] = '\0';
}

static void client_fill_public(struct fabric *f, struct client *cl, const struct conn *c,
			       const struct proto_hello *h, u32 node)
{
	struct hca_client *pub = &f->hca->client[cl->id];

	pub->node = node;
	pub->pid = h->pid;
	pub->fabric_pid = c->cred.pid;
	pub->pidns = h->pidns;
	pub->cookie_addr = h->cookie_addr;
	pub->cookie = h->cookie;
	pub->run = h->run;
	client_copy_name(pub->name, h->name, sizeof(pub->name));
	client_probe(f, cl);
}

/* Earlier images of the same process whose connection has not been seen to end. */
static void client_drop_old_images(struct fabric *f, s32 pid)
{
	struct hca_client *h;
	struct client *cl;

	for (cl = f->clients.list; cl; cl = cl->next) {
		h = &f->hca->client[cl->id];
		if (!cl->dead && pid > 0 && h->fabric_pid == pid && h->fabric_reach &&
		    vm_probe(pid, h->cookie_addr, h->cookie) == -ENOENT)
			client_die(f, cl);
	}
}

static int client_hello_check(const struct fabric *f, const struct conn *c,
			      const struct proto_hello *h)
{
	if (c->client)
		return -EALREADY;
	if (h->version != PROTO_VERSION)
		return -EPROTONOSUPPORT;
	return !!h->real == f->real ? 0 : -EMEDIUMTYPE;
}

static int client_make_kick(struct fabric *f, struct client *cl)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int ret = fd < 0 ? -errno : loop_watch_add(f, &cl->kick, fd, client_on_kick);

	if (!ret)
		loop_watch_events(f, &cl->kick, EPOLLIN | EPOLLET);
	return ret;
}

/* Prepare all of a new client except its entry in the HCA. */
static int client_prepare(struct fabric *f, struct conn *c, struct client *cl)
{
	int fd = conn_pidfd(c), ret;

	if (fd == -ESRCH)
		return fd;
	if (fd >= 0) {
		ret = loop_watch_add(f, &cl->exit, fd, client_on_exit);
		if (ret)
			return ret;
	}
	ret = client_make_kick(f, cl);
	return ret ? ret : client_make_segment(cl);
}

/* The client's own identity and settings, for its PROTO_HELLO. */
static void client_welcome(struct fabric *f, const struct client *cl, struct proto_welcome *w)
{
	const struct hca_client *pub = &f->hca->client[cl->id];
	const struct hca_node *node = &f->hca->node[pub->node];

	memset(w, 0, sizeof(*w));
	w->client = cl->id;
	w->gen = cl->gen;
	w->isolated = f->isolated;
	w->fabric_reach = pub->fabric_reach;
	w->seg_size = SEG_SIZE;
	w->hca_size = f->isolated ? 0 : sizeof(struct hca);
	w->node = pub->node;
	w->first_dev = node->first_dev;
	w->n_devs = min_u32(node->n_devs, PROTO_MAX_DEVS);
}

/* In the order of their numbers: server/isolated.c. One that was reaped may have the same. */
static void clients_insert(struct fabric *f, struct client *cl)
{
	struct client **at = &f->clients.list;

	while (*at && (*at)->id < cl->id)
		at = &(*at)->next;
	cl->next = *at;
	*at = cl;
}

int client_hello(struct fabric *f, struct conn *c, struct proto_msg *m, int *fds, u32 *n_fds)
{
	struct proto_hello h = m->hello;
	struct client *cl;
	int ret = client_hello_check(f, c, &h), id, node;

	if (ret)
		return ret;
	h.node[sizeof(h.node) - 1] = '\0';
	ret = control_check_node(f, c, h.node);
	if (ret)
		return ret;
	node = fabric_node_find_or_make(f, h.node[0] ? h.node : NODE_NAME);
	if (node < 0)
		return node;
	ret = quota_check_client(f, c, (u32)node);
	if (ret)
		return ret;
	client_drop_old_images(f, c->cred.pid);
	cl = client_new();
	if (!cl)
		return -ENOMEM;
	ret = client_prepare(f, c, cl);
	id = ret ? ret : hca_add_client(f->hca);
	if (id < 0) {
		client_release(f, cl);
		free(cl->chan_fd);
		free(cl);
		return id;
	}
	cl->id = (u32)id;
	cl->gen = f->hca->client[id].gen;
	fabric_clock_publish(f, cl);
	seg_format(cl->seg, cl->id, cl->gen);
	client_fill_public(f, cl, c, &h, (u32)node);
	fault_call_update_masks(f, cl);
	cl->conn = c;
	c->client = cl;
	cl->account = account_share(c->account);
	if (cl->account)
		cl->account->clients++;
	clients_insert(f, cl);
	f->clients.by_id[id] = cl;
	f->clients.n++;
	idle_update(f);
	fabric_capture_client_added(f);

	client_welcome(f, cl, &m->welcome);
	fds[(*n_fds)++] = cl->seg_fd;
	if (f->real)
		return 0;
	fds[(*n_fds)++] = cl->kick.fd;
	if (!f->isolated)
		fds[(*n_fds)++] = f->hca_fd;
	return 0;
}

void client_die(struct fabric *f, struct client *cl)
{
	struct conn *c = cl->conn;

	if (cl->dead)
		return;
	cl->dead = true;
	f->clients.n_dead++;
	f->hca->client[cl->id].state = CLIENT_DYING;
	/* If its process lives on without a connection, its device fails. */
	store_release(&cl->seg->fatal, 1);
	if (c) {
		cl->conn = NULL;
		c->client = NULL;
		conn_close(f, c);
	}
	leases_end_runs(f);
}

bool client_is_image_gone(struct fabric *f, struct client *cl)
{
	struct pollfd p = { .fd = cl->exit.fd, .events = POLLIN };
	const struct hca_client *h = &f->hca->client[cl->id];

	if (cl->exited)
		return true;
	if (cl->exit.fd >= 0 && poll(&p, 1, 0) > 0)
		return true;
	if (h->fabric_reach && vm_probe(h->fabric_pid, h->cookie_addr, h->cookie))
		return true;
	return real_ns() - f->server->work.busy_since > GRACE_NS;
}

void client_free(struct fabric *f, struct client *cl)
{
	helper_client_freed(f, cl);
	client_release(f, cl);
	f->clients.by_id[cl->id] = NULL;
	f->clients.n--;
	f->clients.n_dead--;
	if (cl->account)
		cl->account->clients--;
	cl->freed = true;
	f->conns.has_dead = true;
	idle_update(f);
}

void clients_fatal(struct fabric *f)
{
	struct client *cl;

	store_release(&f->hca->fatal, 1);
	for (cl = f->clients.list; cl; cl = cl->next)
		if (cl->seg)
			store_release(&cl->seg->fatal, 1);
}
