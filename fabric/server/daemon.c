/* SPDX-License-Identifier: MIT */
/** DOC: the fabric process from start to end: HCA memory, devices, files, and removing them. */
#include "fabric/server/daemon.h"
#include "emulator/cm/input.h"
#include "emulator/init.h"
#include "fabric/capture/capture.h"
#include "fabric/common/state_sweep.h"
#include "fabric/core/starter.h"
#include "fabric/fault/action.h"
#include "fabric/fault/table.h"
#include "fabric/fault/tx.h"
#include "fabric/join/join.h"
#include "fabric/roce/roce.h"
#include "fabric/journal/log.h"
#include "fabric/link/chaos.h"
#include "fabric/nodes/ports.h"
#include "fabric/nodes/sysfs.h"
#include "fabric/proto/rlimit.h"
#include "fabric/server/clients.h"
#include "fabric/server/conns.h"
#include "fabric/server/engine_ops.h"
#include "fabric/server/server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void daemon_on_node_added(struct fabric *f)
{
	fault_node_added(f);
	fabric_capture_node_added(f);
}

static const struct node_events daemon_node_events = {
	.added = daemon_on_node_added,
	.changed = join_tables_changed,
};

static int daemon_make_hca(struct fabric *f, const struct opts *o)
{
	char name[sizeof(o->fabric)];
	void *p;
	int ret;

	f->hca_fd = memfd_create("rdmaemu-hca", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->hca_fd < 0 || ftruncate(f->hca_fd, (off_t)sizeof(struct hca)) ||
	    fcntl(f->hca_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	p = mmap(NULL, sizeof(struct hca), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		 f->hca_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->hca = p;
	/* GUIDs follow from the name; those of `run --fresh` are the same each time. */
	snprintf(name, sizeof(name), "%.*s", (int)statedir_base_len(o->fabric), o->fabric);
	hca_format(f->hca, o->seed, o->isolated, name);
	f->hca->fabric_pid = (u32)getpid();
	if (o->first_mr)
		f->hca->tab[TAB_MR].cursor = o->first_mr;
	fabric_clock_start(f, o);
	f->hca->chaos = o->chaos;
	f->hca->n_via = o->chaos;
	f->hca->chaos_seed = o->chaos_seed;
	if (o->chaos && chaos_make(f))
		return -ENOMEM;
	f->guid_salt = roce_guid_salt(o);
	ret = fabric_node_find_or_make(f, f->node_name);
	if (ret < 0)
		return ret;
	f->engine.hca = f->hca;
	f->engine.ops = &fabric_ops;
	f->engine.ctx = f;
	f->engine.self = ENGINE_FABRIC;
	f->engine.gsi_input = cm_input;
	f->engine.token = TOKEN_FABRIC;
	return 0;
}

/* Before there is any file of the tree, so that no other fabric takes it for a dead one's. */
static int daemon_lock_tree(struct fabric *f)
{
	state_sweep(&f->paths);
	f->server->alive = state_alive_take(&f->paths);
	return f->server->alive < 0 ? f->server->alive : 0;
}

static int daemon_make_sysfs(struct fabric *f)
{
	/* A fabric that was killed has left its tree. */
	sysfs_remove(f->paths.sysfs);
	return fabric_node_publish(f, 0);
}

/* Other members of a mesh know the node with the host's addresses by the host's name. */
static void daemon_name_node(struct fabric *f, const struct opts *o)
{
	char host[64] = "";

	snprintf(f->node_name, sizeof(f->node_name), "%s", NODE_NAME);
	if (o->name[0])
		snprintf(f->node_name, sizeof(f->node_name), "%s", o->name);
	else if ((o->listen[0] || o->join[0]) && !gethostname(host, sizeof(host) - 1) &&
		 hca_node_name_ok(host))
		snprintf(f->node_name, sizeof(f->node_name), "%.47s", host);
	f->nodes->spread = fabric_node_spread(f->node_name);
}

static struct fabric *fabric_new(const struct opts *o)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->server = calloc(1, sizeof(*f->server));
	if (!f->server || fabric_nodes_init(f) || statedir_paths(&f->paths, o->dir, o->fabric) ||
	    profile_load(&f->profile, o->profile)) {
		free(f);
		return NULL;
	}
	snprintf(f->name, sizeof(f->name), "%s", o->fabric);
	daemon_name_node(f, o);
	f->isolated = o->isolated;
	f->real = o->real == REAL_YES;
	f->server->opts = o;
	closer_init(&f->server->closer);
	f->started = real_ns();
	f->server->idle.ns = o->level[OPT_LINGER] ? o->linger_ms * NSEC_PER_MSEC : NEVER;
	f->server->work.pending_at = NEVER;
	f->server->idle.leave_at = NEVER;
	subnets_default(&f->nodes->subnets);
	if (o->subnet[0])
		subnets_parse(&f->nodes->subnets, o->subnet);
	f->server->idle.lock = -1;
	f->nodes->events = &daemon_node_events;
	f->loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	f->loop.kick.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return f;
}

/* Removing a tree needs descriptors. The next fabric's start sweeps a tree that stays. */
static void daemon_remove_sysfs(struct fabric *f)
{
	struct stat st;
	int ret;

	if (fstat(f->server->alive, &st) || !server_file_is_own(f->paths.alive, &st))
		return;
	ret = sysfs_remove(f->paths.sysfs);
	if (ret) {
		close(f->server->spare_fd);
		ret = sysfs_remove(f->paths.sysfs);
	}
	if (!ret)
		lock_drop_file(f->paths.alive, f->server->alive);
}

static void daemon_remove_log(struct fabric *f)
{
	struct stat st;

	if (!fstat(STDERR_FILENO, &st) && server_file_is_own(f->paths.log, &st))
		unlink(f->paths.log);
}

/*
 * Files go first: processes that wait for the hang-up find none left. If the directory was removed,
 * the files there may be another fabric's.
 */
static void fabric_end(struct fabric *f)
{
	bool own = server_file_is_own(f->paths.sock, &f->server->sock_file);
	struct conn *c;

	fabric_capture_shutdown(f);
	log_keep(f);
	if (own)
		unlink(f->paths.sock);
	node_sockets_end(f, own);
	follow_push(f);
	clients_fatal(f);
	fault_resume_all(f);
	daemon_remove_sysfs(f);
	daemon_remove_log(f);
	if (f->server->idle.lock < 0 && !f->server->vanished)
		idle_lock(f);
	if (f->server->idle.lock >= 0)
		lock_drop_file(f->paths.lock, f->server->idle.lock);
	for (c = f->conns.list; c; c = c->next)
		if (!c->dead)
			closer_hang_up(f, c->w.fd);
	loop_watch_close(&f->server->listen);
}

/* Return: 0 or -errno; -ECANCELED: *what is the whole reason. */
static int daemon_make_topology(struct fabric *f, const struct opts *o, const char **what)
{
	static char why[PATH_MAX + 256];
	static struct topology t;
	int ret;

	if (!o->topology[0])
		return 0;
	*what = o->topology;
	if (topology_load(&t, o->topology))
		return -EINVAL;
	/* A flag overrides the topology. */
	if (t.has_subnets && !o->subnet[0])
		f->nodes->subnets = t.subnets;
	f->nodes->topology = t.hash;
	*what = why;
	ret = topology_apply(f, &t, why, sizeof(why));
	topology_free(&t);
	return ret ? -ECANCELED : 0;
}

static int fabric_start(struct fabric *f, const struct opts *o, const char **what)
{
	int ret;

	*what = "descriptors";
	if (f->loop.epoll < 0 || f->loop.kick.fd < 0)
		return -errno;
	/* Programs of a direct fabric trust each other: there, poll(2) and write(2) will do. */
	*what = "asynchronous I/O, which an isolated fabric needs";
	ret = eventfd_signaller_open(&f->server->signaller);
	if (ret && f->isolated)
		return ret;
	*what = "HCA memory";
	ret = daemon_make_hca(f, o);
	if (ret)
		return ret;
	*what = "the fabric's own memory";
	ret = link_make(f);
	if (!ret)
		ret = fault_table_make(f);
	if (!ret)
		ret = fault_tx_make(f);
	if (ret)
		return ret;
	ret = fabric_capture_init(f);
	if (ret)
		return ret;
	*what = f->paths.alive;
	ret = daemon_lock_tree(f);
	if (ret == -EBUSY) {
		*what = "a fabric of this name lives, whose state directory was removed; end its "
			"programs first";
		return -ECANCELED;
	}
	if (!ret)
		ret = daemon_make_topology(f, o, what);
	if (ret)
		return ret;
	*what = f->paths.sysfs;
	ret = daemon_make_sysfs(f);
	if (ret)
		return ret;
	*what = f->paths.programs;
	ret = node_sockets_start(f);
	if (ret)
		return ret;
	*what = f->paths.sock;
	ret = server_listen(f);
	if (ret)
		return ret;
	fabric_ports_watch(f);
	ret = server_watch_socket(f);
	/* It was removed before there was a watch: no program can come any more. */
	if (!server_file_is_own(f->paths.sock, &f->server->sock_file))
		return -ENOENT;
	if (ret)
		fabric_note(f, "%s is not watched: %s", f->paths.sock, strerror(-ret));
	return 0;
}

int daemon_main(const struct opts *o)
{
	const char *what = "memory";
	struct fabric *f = fabric_new(o);
	char limit[RLIMIT_TEXT];
	int ret;

	/* Beyond RLIMIT_FSIZE: EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	ret = f ? fabric_start(f, o, &what) : -ENOMEM;
	prctl(PR_SET_NAME, "rdmaemu");
	if (ret) {
		/* -ECANCELED: *what is the whole reason. */
		if (ret == -ECANCELED)
			dprintf(DAEMON_FD_READY, "cannot start: %s", what);
		else
			dprintf(DAEMON_FD_READY, "cannot start: %s: %s%s", what, strerror(-ret),
				rlimit_explain(ret, f && f->hca ? 0 : sizeof(struct hca), limit,
					       sizeof(limit)));
		return 1;
	}
	what = roce_start(f, o);
	if (!what)
		what = join_start(f, o);
	join_answer_by(f, conn_make_text);
	if (what) {
		fabric_end(f);
		starter_report_failure(f, "cannot start: %s", what);
		return 1;
	}
	server_loop(f);
	join_end(f);
	roce_end(f);
	fabric_end(f);
	/* The kernel frees the rest faster. */
	_exit(0);
}
