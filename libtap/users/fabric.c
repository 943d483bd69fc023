/* SPDX-License-Identifier: MIT */
/*
 * The connection to the fabric, and the mappings of the own segment. A program may close
 * descriptors that are not its own, and get their numbers again: the socket has a high number, and
 * its inode is compared before each use.
 */
#include "libtap/users/fabric.h"
#include "fabric/proto/control_call.h"
#include "libshim/interpose/own_fd.h"
#include "libtap/users/call_args.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const u64 no_calls[SEG_CALL_WORDS];
const u64 *tap_fabric_calls = no_calls;

static const struct work_filter no_work;
const struct work_filter *tap_fabric_filter = &no_work;

struct real_objects *tap_fabric_objects;

/* The socket, -1: none. One request at a time, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_fd sock = { .fd = -1 };
static struct seg_hdr *seg;

/* A word by which the fabric process recognises this image of the process. */
static u64 cookie;

/* Return: 0 or -errno */
static int fabric_socket_open(const char *path)
{
	int fd = ctl_connect(path), ret;

	if (fd < 0)
		return fd;
	fd = own_fd_move_high(fd);
	ret = own_fd_set(&sock, fd);
	if (ret)
		sys_close(fd);
	return ret;
}

static int fabric_say_hello(struct proto_msg *m, int *fd)
{
	const char *run = getenv(PROTO_REAL_RUN_ENV);
	struct stat ns = { 0 };
	int ret;

	if (getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie))
		return -EIO;
	stat("/proc/self/ns/pid", &ns);
	*m = (struct proto_msg){ .op = PROTO_HELLO };
	m->hello.version = PROTO_VERSION;
	m->hello.pid = getpid();
	m->hello.pidns = ns.st_ino;
	m->hello.cookie_addr = (u64)(uintptr_t)&cookie;
	m->hello.cookie = cookie;
	snprintf(m->hello.name, sizeof(m->hello.name), "%s", program_invocation_short_name);
	m->hello.run = run ? (u32)strtoul(run, NULL, 10) : 0;
	m->hello.real = 1;
	ret = ctl_call(sock.fd, m, fd);
	return !ret && *fd < 0 ? -EPROTO : ret;
}

/* Only this part is written to. Return: 0 or -errno */
static int fabric_map_objects(int fd)
{
	void *map = mmap(NULL, sizeof(*tap_fabric_objects), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, fd, REAL_OBJECTS_OFF);

	if (map == MAP_FAILED)
		return -errno;
	tap_fabric_objects = map;
	return 0;
}

/* Return: 0 or -errno */
static int fabric_map_filter(int fd)
{
	void *map = mmap(NULL, sizeof(*tap_fabric_filter), PROT_READ, MAP_SHARED | MAP_NORESERVE,
			 fd, WORK_FILTER_OFF);

	if (map == MAP_FAILED)
		return -errno;
	store_release(&tap_fabric_filter, (const struct work_filter *)map);
	return 0;
}

/* Return: 0 or -errno */
static int fabric_map_segment(const struct proto_welcome *w, int fd)
{
	struct stat st;
	void *map;
	int ret;

	if (fstat(fd, &st) || st.st_size < (off_t)SEG_FIRST)
		return -EPROTO;
	map = mmap(NULL, sizeof(*seg), PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	seg = map;
	if (seg->client != w->client || seg->gen != w->gen) {
		munmap(map, sizeof(*seg));
		seg = NULL;
		return -EPROTO;
	}
	ret = fabric_map_objects(fd);
	if (!ret)
		ret = fabric_map_filter(fd);
	if (!ret)
		store_release(&tap_fabric_calls, seg->fail_calls);
	return ret;
}

static void fabric_leave(void)
{
	const struct work_filter *filter = tap_fabric_filter;

	store_release(&tap_fabric_calls, no_calls);
	store_release(&tap_fabric_filter, &no_work);
	own_fd_close(&sock);
	if (filter != &no_work)
		munmap((void *)(uintptr_t)filter, sizeof(*filter));
	if (seg)
		munmap(seg, sizeof(*seg));
	if (tap_fabric_objects)
		munmap(tap_fabric_objects, sizeof(*tap_fabric_objects));
	seg = NULL;
	tap_fabric_objects = NULL;
}

bool tap_fabric_join(void)
{
	const char *path = getenv(PROTO_REAL_ENV);
	static struct proto_msg m;
	int fd = -1, ret;

	if (!path || !*path)
		return false;
	ret = fabric_socket_open(path);
	if (!ret)
		ret = fabric_say_hello(&m, &fd);
	if (!ret)
		ret = fabric_map_segment(&m.welcome, fd);
	if (fd >= 0)
		close(fd);
	if (!ret)
		return true;
	fabric_leave();
	dprintf(STDERR_FILENO, "rdmaemu: %s: %s: no fault rule applies to %s\n", path,
		strerror(-ret), program_invocation_short_name);
	return false;
}

void tap_fabric_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	fabric_leave();
}

static int fabric_request(struct proto_msg *m)
{
	int ret;

	pthread_mutex_lock(&lock);
	ret = own_fd_is_open(&sock) ? ctl_call(sock.fd, m, NULL) : -EPIPE;
	pthread_mutex_unlock(&lock);
	return ret;
}

int tap_fabric_ask(enum call_id call, const struct vcall_text *line)
{
	struct proto_msg m = { .op = PROTO_CALL, .call.id = call };

	call_args_text(line, m.call.args, sizeof(m.call.args));

	return fabric_request(&m) ? 0 : (int)m.call.err;
}

void tap_fabric_report(enum call_id call, const struct vcall_text *line, int err, bool limited)
{
	struct proto_msg m = { .op = PROTO_CALL_FAILED };

	m.call = (struct proto_call){ .id = call, .err = (u32)err, .limited = limited };
	call_args_text(line, m.call.args, sizeof(m.call.args));

	/* A fabric that has ended has no journal. */
	(void)fabric_request(&m);
}

void tap_fabric_work(struct proto_work *work)
{
	struct proto_msg m = { .op = PROTO_WORK, .work = *work };

	if (!fabric_request(&m))
		*work = m.work;
}

void tap_fabric_report_work(const struct proto_failed_work *failed)
{
	struct proto_msg m = { .op = PROTO_WORK_FAILED, .failed = *failed };

	(void)fabric_request(&m);
}

u32 tap_fabric_cm(const struct proto_cm *cm)
{
	struct proto_msg m = { .op = PROTO_CM, .cm = *cm };

	return fabric_request(&m) ? PROTO_CM_SHOW : m.cm.act;
}

void tap_fabric_report_event(const struct proto_event *event)
{
	struct proto_msg m = { .op = PROTO_EVENT_SEEN, .event = *event };

	(void)fabric_request(&m);
}

int tap_fabric_events_fd(void)
{
	struct proto_msg m = { .op = PROTO_EVENTS };
	int fd = -1, ret;

	pthread_mutex_lock(&lock);
	ret = own_fd_is_open(&sock) ? ctl_call(sock.fd, &m, &fd) : -EPIPE;
	pthread_mutex_unlock(&lock);
	if (ret)
		return ret;
	return fd < 0 ? -EPROTO : own_fd_move_high(fd);
}

bool tap_fabric_next_event(struct proto_raise *raise)
{
	struct proto_msg m = { .op = PROTO_EVENT_NEXT };

	if (fabric_request(&m))
		return false;
	*raise = m.raise;
	return true;
}

void tap_fabric_report_raised(const struct proto_event *event)
{
	struct proto_msg m = { .op = PROTO_EVENT_RAISED, .event = *event };

	(void)fabric_request(&m);
}

void tap_fabric_report_unseen(u32 qpn)
{
	struct proto_msg m = { .op = PROTO_UNSEEN, .event.qpn = qpn };

	(void)fabric_request(&m);
}

u64 tap_fabric_hold(u32 cq)
{
	struct proto_msg m = { .op = PROTO_HOLD, .hold.cq = cq };

	return fabric_request(&m) ? 0 : m.hold.ns;
}

bool tap_fabric_limits(struct hca_limits *limits)
{
	struct proto_msg m = { .op = PROTO_LIMITS };

	if (fabric_request(&m))
		return false;
	*limits = m.limits;
	return true;
}
