/* SPDX-License-Identifier: MIT */
/**
 * DOC: the fabric process, inside.
 *
 * Theory of operation
 * -------------------
 * One thread, one epoll loop (server.c). Its events are connections, messages (clients.c), exits
 * of processes (pidfds), the kick eventfd that clients write to when there is engine work for this
 * process, a timer and signals. Messages are answered at once; none needs the engine token, since
 * its holder may be the one who asks.
 *
 * Engine work (work.c) needs the token and never waits for it: who cannot have it tries again a
 * little later, so that the loop goes on serving. Work is: deadlines that have passed, doorbells
 * that nobody else serves, the remains of dead clients, and in an isolated fabric everything.
 */
#ifndef FABRIC_SERVER_FABRIC_H
#define FABRIC_SERVER_FABRIC_H

#include "emulator/verbs/cmd.h"
#include "emulator/yield.h"
#include "emulator/engine.h"
#include "fabric/common/nodes.h"
#include "fabric/common/profile.h"
#include "fabric/proto/proto.h"
#include "fabric/proto/real_time.h"
#include "fabric/proto/state_dir.h"
#include "fabric/common/topology.h"
#include "fabric/proto/vmcopy.h"

#include <sys/socket.h>
#include <sys/types.h>

#define MAX_CONNS     (2 * HCA_MAX_CLIENTS)
#define MAX_LEASES    65536u
#define MAX_XFERS     256u
#define NOTES	      256u
#define MAX_PORT_JOBS 8u
#define MAX_NDEVS     64u
#define NEVER	      (~0ULL)

#define NSEC_PER_SEC  1000000000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

#define LINK_ALL (~0u)

struct fabric;
struct captures;
struct chaos;
struct faults;
struct faultwire;
struct inject;
struct link;
struct join;
struct opts;

/**
 * struct watch - a descriptor in the epoll set and who handles it.
 * @fd: -1 when it is not in use
 */
struct watch {
	int fd;
	void (*fn)(struct fabric *f, struct watch *w, u32 events);
};

/**
 * struct conn - a connection.
 * @client: the client that it is, or NULL
 * @follow: PROTO_LOG: what it follows, and how far it has got; NULL: nothing
 * @hold: it is a lease as long as it is open
 * @dead: closed; freed when the current batch of events is done
 */
struct conn {
	struct watch w;
	struct ucred cred;
	struct client *client;
	struct proto_msg *follow;
	bool hold;
	bool dead;
	struct conn *next;
};

/** struct lease - a process that keeps the fabric alive. */
struct lease {
	struct watch w; /* pidfd */
	bool dead;
	struct lease *next;
};

/**
 * struct client - a client as the fabric process has it; struct hca_client is its public part.
 * @id, @gen: in the HCA's table
 * @exit: pidfd; -1 where there is none, then only the connection tells
 * @exited: its process has ended
 * @dead: it has exited or hung up; it waits to be reaped
 * @chan_fd: [SEG_MAX_CHANS], -1 where there is none
 * @xfer: the helper transfer that its helper works for, or NULL
 * @brought: it is in the list of fabric.brought, as is @brought_next
 * @paused_by: the rule that has paused its process; 0: none
 */
struct client {
	u32 id;
	u32 gen;
	struct watch exit;
	bool exited;
	bool dead;
	bool freed;
	struct conn *conn;
	int seg_fd;
	int helper_fd;
	int *chan_fd;
	struct seg_hdr *seg;
	struct xfer *xfer;
	bool brought;
	struct client *brought_next;
	u32 paused_by;
	struct client *next;
};

enum xfer_phase {
	XFER_START,
	XFER_READ, /* the source's helper fills its bounce buffer */
	XFER_WRITE, /* the destination's helper empties its own */
};

/** struct xfer - a copy through helper threads, over several holdings of the token. */
struct xfer {
	bool used;
	u8 phase; /* enum xfer_phase */
	u32 slot; /* QP it is for; from HCA_MAX_QP on: link_flow() */
	u32 qpn;
	u64 key;
	u64 off; /* bytes done */
	u64 doff, soff, len;
	u64 orig; /* atomic: the value before */
	struct client *src; /* whose helpers it has taken, or NULL */
	struct client *dst;
};

/** struct port_job - a request about ports that waits for the token. @conn: NULL: none */
struct port_job {
	struct conn *conn;
	struct proto_msg msg;
};

/**
 * struct clock_move - the clock on its way ahead, by hand.
 * @to: fabric time; 0: it is not
 * @conn: who has asked and waits; NULL: it has gone
 * @since: real time at which it got where it is
 * @passes: of the engine since then
 */
struct clock_move {
	u64 to;
	struct conn *conn;
	u64 since;
	u32 passes;
};

/** struct ndev_order - the network interfaces in the order in which they were dealt out to ports. */
struct ndev_order {
	char name[MAX_NDEVS][16];
	u32 n;
};

/** struct shown - what of a node is in sysfs. @counted: sum of all counters at that time */
struct shown {
	bool tree;
	bool stale; /* something but counters has changed */
	u64 counted;
};

/** struct note - something the fabric process has to say, for `rdmaemu log`. */
struct note {
	u64 ts;
	char text[160];
};

/**
 * struct fabric - all of it.
 * All times are real time, but those that say otherwise.
 * @started: when it was; fabric time as well, as both begin at the same moment
 * @ppm: how fast its clock runs when it does
 * @ppm_made, @manual_made: what it was started with
 * @linger_ns: how long it stays unused; NEVER: until stopped
 * @leave_at: when it leaves if it stays unused, or NEVER
 * @leaving: it was told to stop
 * @lock: held while it leaves, else -1
 * @spare_fd: given up for a moment when no other descriptor is to be had
 * @kicked: look for engine work now
 * @rung: QPs that waited for a helper can go on: do not leave them to others
 * @retry_at: the token was busy: try again then; 0: it was not
 * @backoff_ns: the next wait for it
 * @again_at: by a clock that stands, when the links try again what could not be delivered; 0: nothing
 * @busy_token, @busy_since: who had it and since when
 * @busy_noted: it was said that this holder is stopped
 * @pending_at: when doorbells that others should serve become ours, or NEVER
 * @active_at: when there was last something to do for isolated clients
 * @brought_at: when programs were last brought something over links
 * @brought_often: how often, by then, without a pause
 * @crowd: whether the CPUs are busy with others
 * @late_turns: so often there was too much to be delivered for deadlines to be looked at
 * @follow_at: when followers of the journal are looked after next
 * @gids_stale: addresses of the host have changed
 * @link: what is on its way over links
 * @chaos: fabric/link/chaos.h; NULL: there is none
 * @captures: fabric/capture/capture.h
 * @own_limits: what the first @n_own_limits devices have without rules; NULL: no rule has changed any
 * @faults: fault rules: fabric/fault/table.h; @faultwire: their state for packets: fault/tx.c
 * @join_send: hands a burst to another member, LINK_ALL: to all of them. As hca_host.link; NULL:
 *	joined with none
 * @inject: fabric/inject/inject.c; NULL: nothing was put in so far
 * @brought: clients whose QPs got something in this holding of the token
 * @waiting: QP slots to ring when a helper has finished; @n_waiting of them
 */
struct fabric {
	char name[64];
	char node_name[48]; /* of the node with the host's own addresses */
	struct join *join; /* NULL: it is not joined with others */
	u64 spread; /* where its nodes' addresses begin: others' are to be different ones */
	bool starter_told;
	struct fabric_paths paths;
	bool isolated;
	struct profile profile;
	u64 started;
	u32 ppm, ppm_made;
	bool manual_made;
	struct clock_move move;
	u64 linger_ns;
	u64 leave_at;
	bool used;
	bool leaving;
	bool left;
	int lock;
	int spare_fd;
	u32 n_cpus;

	int epoll;
	struct watch listen;
	struct watch kick;
	struct watch timer;
	struct watch signals;
	u64 timer_set;

	struct hca *hca;
	int hca_fd;
	struct engine engine;

	struct conn *conns;
	struct lease *leases;
	struct client *clients;
	struct client *by_id[HCA_MAX_CLIENTS];
	u32 n_conns, n_leases, n_clients, n_dead;
	u32 n_followers;
	u64 follow_at;
	bool graves;

	bool kicked;
	bool rung;
	u64 retry_at;
	u64 again_at;
	u64 backoff_ns;
	u64 busy_token;
	u64 busy_since;
	bool busy_noted;
	u64 pending_at;
	u64 served; /* hca->served when that was set */
	u64 active_at;
	u64 brought_at;
	u32 brought_often;
	struct crowd crowd;
	u32 late_turns;

	struct port_job port_job[MAX_PORT_JOBS];
	u32 n_port_jobs;
	struct ndev_order ndevs;
	bool gids_stale;
	struct watch netlink;
	struct shown shown[HCA_MAX_NODES];
	struct subnets subnets;
	u64 topology; /* struct topology.hash; 0: none */
	u64 addresses; /* of the subnets that were given out */
	u32 lids;

	struct client *brought;
	struct link *link;
	struct faults *faults;
	struct chaos *chaos;
	struct captures *captures;
	struct hca_limits *own_limits;
	u32 n_own_limits;
	struct faultwire *faultwire;
	struct inject *inject;
	int (*join_send)(struct fabric *f, u32 member, const struct burst *b);

	struct xfer xfer[MAX_XFERS];
	u64 waiting[HCA_MAX_QP / 64];
	u32 n_waiting;

	struct note notes[NOTES];
	u64 n_notes;
	u64 log_bytes;
};

/* --- clock.c: fabric time; real time is fabric/proto/real_time.h's ------------------------------------------ */

/** fabric_ns() - fabric time: emulator/clock.h. */
u64 fabric_ns(const struct fabric *f);
/** engine_now() - the same as the engine sees it: with chaos the time that what it is at was to happen at. */
static inline u64 engine_now(const struct fabric *f)
{
	return f->engine.host->now(f->engine.ctx);
}

/** fabric_real_at() - real time at which fabric time will be @at, or NEVER. */
u64 fabric_real_at(const struct fabric *f, u64 at);
/** fabric_clock_start() - HCA memory is there: the clock becomes what the settings say. */
void fabric_clock_start(struct fabric *f, const struct opts *o);
/** fabric_clock_publish() - a client has come: it gets the clock into its segment. */
void fabric_clock_publish(struct fabric *f, struct client *cl);
/** fabric_clock_request() - PROTO_CLOCK. Return: 0, -EINPROGRESS: answered later; -errno. */
int fabric_clock_request(struct fabric *f, struct conn *c, struct proto_msg *m);
/** fabric_clock_work() - move it ahead if that was asked for. Return: real time to come back at, or NEVER. */
u64 fabric_clock_work(struct fabric *f);
/** fabric_clock_conn_closed() - a connection is closed. */
void fabric_clock_conn_closed(struct fabric *f, const struct conn *c);

/* --- server.c ------------------------------------------------------------------------------ */

/** loop_watch_add() - put a descriptor into the epoll set. Return: 0 or -errno. */
int loop_watch_add(struct fabric *f, struct watch *w, int fd,
		   void (*fn)(struct fabric *f, struct watch *w, u32 events));
/** loop_watch_close() - take it out and close it. */
void loop_watch_close(struct watch *w);
/** linger_update() - a client, lease or connection came or went: think about leaving. */
void linger_update(struct fabric *f);
/** server_listen() - bind the socket and watch it. Return: 0 or -errno. */
int server_listen(struct fabric *f);
/** server_loop() - serve until it is time to leave. The lock is held then. */
void server_loop(struct fabric *f);

/* --- conns.c: connections, messages, leases -------------------------------------------------- */

/** conn_accept() - take the connections that wait. Also the listening socket's event handler. */
void conn_accept(struct fabric *f, struct watch *w, u32 events);
/** conn_close() - hang up; a client that it was is dead. */
void conn_close(struct fabric *f, struct conn *c);
/** conn_reply() - the answer to a request that had to wait. @c may have closed meanwhile. */
void conn_reply(struct fabric *f, struct conn *c, struct proto_msg *m);
/** conn_send() - send a message with descriptors, without waiting. Return: 0, -EAGAIN or -errno. */
int conn_send(struct conn *c, struct proto_msg *m, const int *fds, u32 n_fds);
/** conns_reap() - free what was closed. */
void conns_reap(struct fabric *f);
/** conn_pidfd() - a pidfd of a connection's process. Return: descriptor, -ESRCH when it has gone.
 */
int conn_pidfd(const struct conn *c);

/* --- clients.c ----------------------------------------------------------------------------- */

/** client_hello() - PROTO_HELLO. @m becomes the answer; fds[3] what goes with it, @n_fds of them.
 */
int client_hello(struct fabric *f, struct conn *c, struct proto_msg *m, int *fds, u32 *n_fds);
/** client_die() - its process has ended or it hung up: to be reaped. */
void client_die(struct fabric *f, struct client *cl);
/** client_is_image_gone() - whether none of its threads can still be at work in the engine. */
bool client_is_image_gone(struct fabric *f, struct client *cl);
/** client_free() - forget a client that was reaped. */
void client_free(struct fabric *f, struct client *cl);
/** client_find() - the live client @id of generation @gen, or NULL. */
struct client *client_find(struct fabric *f, u32 id, u32 gen);
/** clients_fatal() - tell all clients through shared memory that the fabric has gone. */
void clients_fatal(struct fabric *f);

/* --- work.c, isolated.c -------------------------------------------------------------------- */

/** work_run() - do what needs the token and is due. Return: when to come back (ns, or NEVER). */
u64 work_run(struct fabric *f);
/** work_deadline() - fabric time at which something is due next, ~0: nothing. */
u64 work_deadline(const struct fabric *f);
/** work_is_quiet() - whether the engine has nothing to do until then. */
bool work_is_quiet(struct fabric *f);
/**
 * work_prepare_sleep() - the loop is going to sleep until *next: from now on it is kicked for doorbells of
 * paths with @via. *next becomes sooner when some are there already.
 */
void work_prepare_sleep(struct fabric *f, u64 *next);
/** isolated_has_work() - collect doorbells of isolated clients. Return: whether there is work. */
bool isolated_has_work(struct fabric *f);
/** isolated_commands() - execute commands that were posted. Token held. */
void isolated_commands(struct fabric *f);

/* --- poller_wake.c ----------------------------------------------------------------------------- */

/** poller_wake_add() - a QP, or NULL, has got something over a link, or a completion. Token held. */
void poller_wake_add(struct fabric *f, const struct hca_qp *qp);
/** poller_wake_all() - their programs, if they sleep, look again. Before any of them is freed. */
void poller_wake_all(struct fabric *f);

/* --- engine_host.c, helper.c --------------------------------------------------------------------- */

extern const struct hca_host fabric_host;
/** eventfd_signal() - add one to a client's eventfd without waiting. Return: 0 or -errno. */
int eventfd_signal(int fd);
/** memory_needs_helper() - whether only the client's own helper thread can reach that memory. */
bool memory_needs_helper(struct fabric *f, u32 client, u32 kind);
/** helper_copy() - as hca_host.copy, where a side needs its helper. */
int helper_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len, u64 key);
/** helper_atomic() - as hca_host.atomic, through the client's helper. */
int helper_atomic(struct fabric *f, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		  struct atomic_res *res, u64 key);
/** helpers_check_done() - ring the QPs that wait for helpers if one has finished. */
void helpers_check_done(struct fabric *f);
/** wait_add_current() - the QP that runs is rung again by wait_ring_all(). */
void wait_add_current(struct fabric *f);
/** wait_ring_all() - what QPs have waited for has come, maybe. */
void wait_ring_all(struct fabric *f);
/** helper_ready() - a client named its helper's eventfd. */
void helper_ready(struct fabric *f, struct client *cl);
/** helper_forget() - a client is freed: drop the transfers that touch it. */
void helper_forget(struct fabric *f, struct client *cl);

/** memory_copy() - as hca_host.copy, where no helper is needed. */
int memory_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len);

/* --- join*.c: other members of the mesh; fabric/join/join.h --- */

/**
 * join_start() - listen and connect as the settings say. Without such settings the starter is told
 * at once that the fabric is there, else by join_tick().
 * Return: NULL, or why it cannot.
 */
const char *join_start(struct fabric *f, const struct opts *o);
/** join_end() - say good-bye. */
void join_end(struct fabric *f);
/** join_tick() - what is due without the token. Return: when to come back. */
u64 join_tick(struct fabric *f);
/** join_due() - whether frames wait for the token. join_next() - when they will. */
bool join_due(const struct fabric *f, u64 now);
u64 join_next(const struct fabric *f);
/** join_input() - look at them. Token held. */
void join_input(struct fabric *f);
/** join_mem() - the payload of the burst that is being taken: the memory of HCA_JOIN. */
void *join_mem(struct fabric *f);
/** join_tables_changed() - our devices, or what they have, may have changed: others are told. */
void join_tables_changed(struct fabric *f);
/**
 * join_send() - as fabric.join_send: a burst to a device of @member, or a group. Token held.
 * Return: 0; it is lost when there is no way to it. -EAGAIN: there is no room now; the QP that runs is
 * rung when there is.
 */
int join_send(struct fabric *f, u32 member, const struct burst *b);

/* --- fabric/link/link.c ---------------------------------------------------------------------------------- */

/** link_make() - no link has anything under way. Return: 0 or -ENOMEM. */
int link_make(struct fabric *f);
/** link_send() - as hca_host.link: a burst leaves one of our ports. Token held. */
int link_send(struct fabric *f, const struct burst *b);
/**
 * link_input() - a burst that has come to the switch from another member, for one of our ports, or a
 * group. Its payload and address are copied. Token held.
 * Return: 0, or -EAGAIN: there is no room now; offer it again later.
 */
int link_input(struct fabric *f, const struct burst *b);
/** link_is_direct() - whether link_input() would hand it to the engine at once. */
bool link_is_direct(const struct fabric *f, const struct burst *b);
/** link_next() - fabric time at which something arrives next, ~0: nothing is on its way. */
u64 link_next(const struct fabric *f);
/** link_work() - deliver what has arrived. Token held. */
void link_work(struct fabric *f);
/** link_has_arrivals() - whether more has arrived than was delivered. */
bool link_has_arrivals(const struct fabric *f);
/** link_mem() - where the payload of what is on its way lies: the memory of HCA_LINK. */
void *link_mem(struct fabric *f);
/** link_flow() - the flow whose burst is being delivered; what comes without one has a number, too. */
u32 link_flow(const struct fabric *f);
/** link_flow_waits() - whether the flow has a burst that is to be delivered again. */
bool link_flow_waits(const struct fabric *f, u32 flow);

/* --- netlink.c -------------------------------------------------------------------------------- */

/** netlink_gid_make() - a GID of a subnet prefix and an interface id. */
void netlink_gid_make(struct hca_gid *g, u64 prefix, u64 guid);
/** netlink_node_gid() - the GID that a RoCE port with that GUID has by itself, on the host's interface. */
void netlink_node_gid(struct fabric *f, u64 guid, struct hca_gid *g);
/** netlink_mtu_code() - the path MTU (enum ibv_mtu) that fits an interface's, at most @max. */
u32 netlink_mtu_code(const char *ndev, u32 max);
/** netlink_port_gids() - the GID table of an Ethernet port as the host's interfaces are now. */
void netlink_port_gids(struct fabric *f, u32 dev, u32 port, struct hca_gid gid[HCA_GIDS]);
/** netlink_port_ips() - the IP addresses of an InfiniBand port likewise, entry 0 left out. */
void netlink_port_ips(struct fabric *f, u32 dev, u32 port, struct hca_gid ip[HCA_GIDS]);

/* --- nodes.c ------------------------------------------------------------------------------- */

/** fabric_node_spread() - a number that differs between fabrics whose host nodes have different names. */
u64 fabric_node_spread(const char *name);
/** fabric_node_make() - a new node. Return: index, -EINVAL, -EEXIST, -EADDRINUSE, -EOVERFLOW or -ENOSPC. */
int fabric_node_make(struct fabric *f, const struct node_spec *s);
/** fabric_node_find_or_make() - the node of that name, which is made if there is none. Return: as fabric_node_make(). */
int fabric_node_find_or_make(struct fabric *f, const char *name);
/** fabric_node_use() - likewise, and its sysfs tree is up to date. @name: "": the host. Return: or -errno. */
int fabric_node_use(struct fabric *f, const char *name);
/** fabric_node_ask() - PROTO_NODE: @m becomes the answer. Return: 0 or -ENOENT. */
int fabric_node_ask(const struct fabric *f, struct proto_msg *m);
/** fabric_node_publish() - write a node's sysfs tree. Return: 0 or -errno. */
int fabric_node_publish(struct fabric *f, u32 node);
/** fabric_node_publish_counters() - write the counters into its tree, if something was counted. */
void fabric_node_publish_counters(struct fabric *f, u32 node);

/* --- ports.c ------------------------------------------------------------------------------- */

/** fabric_ports_watch() - from now on notice when the host's addresses change. */
void fabric_ports_watch(struct fabric *f);
/** fabric_port_request() - PROTO_PORT. Return: -EINPROGRESS: answered later; -EBUSY. */
int fabric_port_request(struct fabric *f, struct conn *c, const struct proto_msg *m);
/** fabric_port_change() - do it for all ports that are named, or, where one will not have it, for none. */
int fabric_port_change(struct fabric *f, const struct proto_port *q);
/**
 * fabric_port_matches() - whether a port of this fabric's own is one that a request is about.
 * @node, @name, @nr: its node, device and number as in a message; "", "", 0: any
 */
bool fabric_port_matches(const struct hca *hca, u32 dev, u32 port, const char *node,
			 const char *name, u32 nr);
/** fabric_port_conn_closed() - a connection is closed. */
void fabric_port_conn_closed(struct fabric *f, const struct conn *c);
/** fabric_ports_due() - whether there is something to do with the token. */
bool fabric_ports_due(const struct fabric *f);
/** fabric_ports_publish() - ports have changed: write the trees of those nodes that somebody looks at. */
void fabric_ports_publish(struct fabric *f);
/** fabric_ports_work() - do it. Token held. */
void fabric_ports_work(struct fabric *f);

/* --- status.c, fabric/journal/log.c ----------------------------------------------------------------------- */

/** status_make() - the fabric's state; *@flags: PROTO_F_* of the request, and those of its answer. Return: a memfd or -errno. */
int status_make(struct fabric *f, u32 *flags);
/** log_entry() - PROTO_JOURNAL: @m becomes the answer. Return: 0 or -ENOENT. */
int log_entry(struct fabric *f, struct proto_msg *m);
/** fabric_note() - keep a line for `rdmaemu log`, and append it to the log file, which is bounded. */
void fabric_note(struct fabric *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** process_is_stopped() - whether that process is stopped (SIGSTOP, a debugger). */
bool process_is_stopped(s32 pid);

#endif
