/* SPDX-License-Identifier: MIT */
/*
 * Queue pairs that the processes of a run show each other.
 *
 * A file in the directory of the reports, which all map, has a place for each connected queue pair:
 * its attributes, how many receives it was given, and its outstanding accesses of remote memory.
 * Only the owner of a place writes there. Readers pass over a place whose owner is gone, or that
 * changes meanwhile: they may miss something, but do not make anything up.
 */
#include "libtap/check/board.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * struct board - @used: places that were ever taken, from the first one on
 * @n_gone: regions that were ever deregistered; @gone: a ring of the latest ones
 * @key: by the hash of their names, which stay; those that do not fit are left out
 */
struct board {
	u32 used;
	u64 n_gone;
	struct board_qp qp[BOARD_QPS];
	struct board_gone gone[BOARD_GONE];
	struct board_key key[BOARD_KEYS];
};

static struct board *board;
static bool board_reachable; /* a queue pair of this process was connected */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Maps the file. Return: false: there is none. */
static bool board_open(void)
{
	const char *dir = getenv(FINDING_DIR_ENV);
	void *map = MAP_FAILED;
	char path[4096];
	int fd;

	if (board)
		return true;
	snprintf(path, sizeof(path), "%s/" FINDING_BOARD, dir ? dir : "");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	if (!ftruncate(fd, sizeof(*board)))
		map = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	board = map;
	return true;
}

static bool board_is_open(void)
{
	bool open;

	pthread_mutex_lock(&lock);
	open = board_open();
	pthread_mutex_unlock(&lock);
	return open;
}

static struct board_qp *board_take_place(void)
{
	u32 i, none, used;

	for (i = 0; i < BOARD_QPS; i++) {
		none = 0;
		if (!__atomic_compare_exchange_n(&board->qp[i].owner, &none, (u32)getpid(), false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		used = load_relaxed(&board->used);
		while (used <= i &&
		       !__atomic_compare_exchange_n(&board->used, &used, i + 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		return &board->qp[i];
	}
	return NULL;
}

static bool board_query_datagrams(const struct check_obj *qp, struct board_attr *a)
{
	const int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY;
	struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i;

	if (ibv_query_qp(ibqp, &attr, mask, &init) ||
	    (attr.qp_state != IBV_QPS_RTR && attr.qp_state != IBV_QPS_RTS) ||
	    ibv_query_gid(ibqp->context, attr.port_num, 0, &a->gid))
		return false;
	for (i = 0; i < (int)BOARD_GIDS; i++)
		if (ibv_query_gid(ibqp->context, attr.port_num, i + 1, &a->more_gids[i]))
			break;
	a->qpn = ibqp->qp_num;
	a->state = attr.qp_state;
	a->ord = qp->ord;
	a->datagrams = true;
	a->qkey = attr.qkey;
	return true;
}

/* Its partition, by the table of its port. */
static void board_query_pkey(struct ibv_context *ctx, const struct ibv_qp_attr *attr,
			     struct board_attr *a)
{
	__be16 pkey;

	a->pkey_is_known = !ibv_query_pkey(ctx, attr->ah_attr.port_num, attr->pkey_index, &pkey);
	if (a->pkey_is_known)
		a->pkey = ntohs(pkey);
}

/* Reads the attributes of a connected queue pair. Return: false: it has no address. */
static bool board_query(const struct check_obj *qp, struct board_attr *a)
{
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_PKEY_INDEX | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
	struct ibv_qp *ibqp = (void *)(uintptr_t)qp->tap->key;
	struct ibv_qp_init_attr init;
	struct ibv_gid_entry gid;
	struct ibv_qp_attr attr;

	memset(a, 0, sizeof(*a));
	if (ibqp->qp_type == IBV_QPT_UD)
		return board_query_datagrams(qp, a);
	if (ibqp->qp_type != IBV_QPT_RC || ibv_query_qp(ibqp, &attr, mask, &init) ||
	    (attr.qp_state != IBV_QPS_RTR && attr.qp_state != IBV_QPS_RTS) ||
	    !attr.ah_attr.is_global)
		return false;
	if (ibv_query_gid_ex(ibqp->context, attr.ah_attr.port_num, attr.ah_attr.grh.sgid_index,
			     &gid, 0))
		return false;
	a->gid = gid.gid;
	a->gid_type = gid.gid_type;
	board_query_pkey(ibqp->context, &attr, a);
	a->qpn = ibqp->qp_num;
	a->peer_qpn = attr.dest_qp_num;
	a->peer_gid = attr.ah_attr.grh.dgid;
	a->state = attr.qp_state;
	a->path_mtu = attr.path_mtu;
	a->max_rd_atomic = attr.max_rd_atomic;
	a->max_dest_rd_atomic = attr.max_dest_rd_atomic;
	a->ord = qp->ord;
	a->shared = qp->qp.shared;
	return true;
}

void check_board_put(struct check_obj *qp)
{
	struct board_qp *place;
	struct board_attr attr;

	if (!board_query(qp, &attr))
		return;
	pthread_mutex_lock(&lock);
	if (!qp->qp.place && board_open())
		qp->qp.place = board_take_place();
	place = qp->qp.place;
	if (place) {
		/* Readers pass over an odd version. */
		__atomic_fetch_add(&place->version, 1, __ATOMIC_ACQ_REL);
		place->attr = attr;
		if (qp->qp.counts == &qp->qp.own_counts)
			place->counts = qp->qp.own_counts;
		qp->qp.counts = &place->counts;
		__atomic_fetch_add(&place->version, 1, __ATOMIC_RELEASE);
	}
	if (place && !attr.datagrams)
		store_relaxed(&board_reachable, true);
	pthread_mutex_unlock(&lock);
}

bool check_board_is_reachable(void)
{
	return load_relaxed(&board_reachable);
}

void check_board_remove(struct check_obj *qp)
{
	struct board_qp *place = qp->qp.place;

	if (!place)
		return;
	qp->qp.own_counts = place->counts;
	qp->qp.counts = &qp->qp.own_counts;
	qp->qp.place = NULL;
	__atomic_fetch_add(&place->version, 1, __ATOMIC_ACQ_REL);
	memset(&place->attr, 0, sizeof(place->attr));
	memset(&place->counts, 0, sizeof(place->counts));
	store_relaxed(&place->early, 0);
	store_relaxed(&place->done, place->posted);
	__atomic_fetch_add(&place->version, 1, __ATOMIC_RELEASE);
	store_release(&place->owner, 0);
}

static bool board_remove_one(struct check_obj *qp, void *arg)
{
	(void)arg;
	check_board_remove(qp);
	return false;
}

void check_board_finish(void)
{
	check_obj_for_each(VOBJ_QP, board_remove_one, NULL);
}

/* The mapping stays: the child has no queue pairs there yet. */
void check_board_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	board_reachable = false;
}

/* --- places of others --- */

bool check_board_read(const struct board_qp *place, struct board_attr *attr)
{
	u32 version = load_acquire(&place->version);

	if (!load_relaxed(&place->owner) || version % 2)
		return false;
	*attr = place->attr;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_relaxed(&place->version) == version && attr->qpn;
}

static bool board_is_peer(const struct board_attr *a, const struct board_attr *b)
{
	return a->qpn == b->peer_qpn && b->qpn == a->peer_qpn &&
	       !memcmp(&a->gid, &b->peer_gid, sizeof(a->gid)) &&
	       !memcmp(&b->gid, &a->peer_gid, sizeof(b->gid));
}

bool check_board_is_alive(const struct board_qp *place)
{
	int saved = errno;
	bool alive = !kill((pid_t)load_relaxed(&place->owner), 0) || errno != ESRCH;

	errno = saved;
	return alive;
}

const struct board_qp *check_board_next(const struct board_qp *after)
{
	u32 i;

	if (!board)
		return NULL;
	i = after ? (u32)(after - board->qp) + 1 : 0;
	return i < min_u32(load_relaxed(&board->used), BOARD_QPS) ? &board->qp[i] : NULL;
}

static bool board_has_gid(const struct board_attr *a, const union ibv_gid *gid)
{
	static const union ibv_gid none;
	bool has = !memcmp(&a->gid, gid, sizeof(*gid));
	u32 i;

	if (!memcmp(gid, &none, sizeof(none)))
		return false;

	for (i = 0; !has && i < BOARD_GIDS; i++)
		has = !memcmp(&a->more_gids[i], gid, sizeof(*gid));
	return has;
}

const struct board_qp *check_board_find_datagram(u32 qpn, const union ibv_gid *gid,
						 struct board_attr *attr)
{
	const struct board_qp *p;

	for (p = check_board_next(NULL); p; p = check_board_next(p))
		if (load_relaxed(&p->attr.qpn) == qpn && check_board_read(p, attr) &&
		    attr->datagrams && attr->qpn == qpn && board_has_gid(attr, gid) &&
		    check_board_is_alive(p))
			return p;
	return NULL;
}

const struct board_qp *check_board_peer_of(const struct board_attr *of, struct board_attr *peer)
{
	const struct board_qp *p;

	for (p = check_board_next(NULL); p; p = check_board_next(p))
		if (check_board_read(p, peer) && board_is_peer(of, peer) && check_board_is_alive(p))
			return p;
	return NULL;
}

const struct board_qp *check_board_find_peer(struct check_obj *qp, struct board_attr *peer)
{
	const struct board_attr *own = &qp->qp.place->attr;

	if (!qp->qp.peer_place || !check_board_read(qp->qp.peer_place, peer) ||
	    !board_is_peer(own, peer))
		qp->qp.peer_place = check_board_peer_of(own, peer);
	return qp->qp.peer_place;
}

/* --- regions that are gone --- */

void check_board_region_gone(const struct check_obj *mr)
{
	const u32 remote =
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	struct board_gone *to;
	u64 number;

	if (!mr->mr.has_access || !(mr->mr.access & remote) || !board_is_open())
		return;
	number = __atomic_add_fetch(&board->n_gone, 1, __ATOMIC_RELAXED);
	to = &board->gone[number % BOARD_GONE];
	store_relaxed(&to->number, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->owner = (u32)getpid();
	to->rkey = mr->mr.rkey;
	to->ord = mr->ord;
	to->addr = mr->mr.iova;
	to->len = mr->mr.len;
	store_release(&to->number, number);
}

bool check_board_find_gone(u32 owner, u32 rkey, struct board_gone *gone)
{
	const struct board_gone *from;
	u64 n, last;

	if (!board_is_open())
		return false;
	last = load_acquire(&board->n_gone);
	for (n = last; n && n + BOARD_GONE > last; n--) {
		from = &board->gone[n % BOARD_GONE];
		if (load_acquire(&from->number) != n)
			continue;
		*gone = *from;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (load_relaxed(&from->number) == n && gone->owner == owner && gone->rkey == rkey)
			return true;
	}
	return false;
}

/* --- rkeys --- */

/* The place of a key. @add: make one. Return: NULL: none. */
static struct board_key *board_find_key(u32 owner, u32 rkey, bool add)
{
	u64 name = (u64)owner << 32 | rkey, hash = mix64(name), found;
	struct board_key *k;
	u32 i;

	if (!board_is_open())
		return NULL;
	for (i = 0; i < BOARD_PROBES; i++) {
		k = &board->key[(hash + i) % BOARD_KEYS];
		found = load_relaxed(&k->name);
		if (!found && add &&
		    __atomic_compare_exchange_n(&k->name, &found, name, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return k;
		if (found == name)
			return k;
	}
	return NULL;
}

void check_board_use_key(u32 owner, u32 rkey, u32 right)
{
	struct board_key *k = board_find_key(owner, rkey, true);

	if (k && !(load_relaxed(&k->rights) & right))
		__atomic_fetch_or(&k->rights, right, __ATOMIC_RELAXED);
}

u32 check_board_used_rights(u32 rkey)
{
	const struct board_key *k = board_find_key((u32)getpid(), rkey, false);

	return k ? load_relaxed(&k->rights) : 0;
}

void check_board_forget_key(u32 rkey)
{
	struct board_key *k = board_find_key((u32)getpid(), rkey, false);

	if (k)
		store_relaxed(&k->rights, 0);
}
