/* SPDX-License-Identifier: MIT */
/** DOC: `rdmaemu replay --inject`: find the queue pair, send packets, compare what comes back. */
#include "emulator/ib.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/inject/tool.h"
#include "fabric/common/json.h"
#include "fabric/proto/real_time.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FIND_NS	 (30ULL * 1000000000) /* to wait for the queue pair */
#define QUIET_NS (500ULL * 1000000) /* without a script: end after such a pause */
#define LOOK_NS	 (10ULL * 1000000)
#define TEXT	 512

/**
 * struct run - the state of a run.
 * @ignored: a bit for each enum fault_op that is not compared
 * @out: --json: the array that is printed
 */
struct run {
	const struct opts *o;
	const struct inject_file *file;
	const struct inject_script *script;
	struct inject_live live;
	struct inject_tap *tap;
	int sock;
	u64 ignored;
	u32 sent, seen, dropped;
	struct json_object *out;
};

void inject_sleep(u64 ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000),
			       .tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* --- the queue pair ------------------------------------------------------------------------- */

static int inject_request_qp(struct run *r, u32 mr, struct proto_inject *q)
{
	struct proto_msg m = { .op = PROTO_INJECT };
	const struct opts *o = r->o;
	int ret;

	if (o->level[OPT_NODE] == LEVEL_FLAG)
		snprintf(m.inject.node, sizeof(m.inject.node), "%s", o->node);
	snprintf(m.inject.dev, sizeof(m.inject.dev), "%s", o->device);
	snprintf(m.inject.from, sizeof(m.inject.from), "%s", o->from);
	snprintf(m.inject.program, sizeof(m.inject.program), "%s", o->program);
	m.inject.port = o->port;
	m.inject.qpn = q->qpn ? q->qpn : o->qpn;
	m.inject.mr = mr;
	ret = ctl_call(r->sock, &m, NULL);
	if (!ret || ret == -ENOTUNIQ)
		*q = m.inject;
	return ret;
}

/* The options that choose the queue pair, in words. */
static const char *inject_target_text(const struct opts *o, char *buf, size_t size)
{
	int n = 0;

	buf[0] = '\0';
	if (o->qpn)
		n += snprintf(buf + n, size - (size_t)n, " with number 0x%06x", o->qpn);
	if (o->program[0])
		n += snprintf(buf + n, size - (size_t)n, " of program %s", o->program);
	if (o->level[OPT_NODE] == LEVEL_FLAG)
		n += snprintf(buf + n, size - (size_t)n, " on node %s", o->node);
	if (o->from[0])
		snprintf(buf + n, size - (size_t)n, " whose peer is on node %s", o->from);
	return buf;
}

static int inject_print_not_found(const struct run *r, int err, const struct proto_inject *q)
{
	char which[256];

	switch (err) {
	case -ENOENT:
		return print_error("replay: fabric %s has no connected queue pair%s", r->o->fabric,
				   inject_target_text(r->o, which, sizeof(which)));
	case -ENOTUNIQ:
		return print_error("replay: %u connected queue pairs%s match: expected one that "
				   "--qp, --program, --node or --from names",
				   q->n, inject_target_text(r->o, which, sizeof(which)));
	case -EREMOTE:
		return print_error("replay: node %s is another fabric's", r->o->from);
	default:
		ctl_print_error(r->o, err);
		return -1;
	}
}

/* The queue pair may not be connected yet. */
static int inject_await_qp(struct run *r)
{
	struct proto_inject *q = &r->live.q, region = { 0 };
	u64 until = real_ns() + FIND_NS;
	u32 i;
	int ret;

	while ((ret = inject_request_qp(r, r->o->mr, q)) == -ENOENT && real_ns() < until)
		inject_sleep(LOOK_NS);
	if (ret)
		return inject_print_not_found(r, ret, q);
	for (i = 0; i < r->file->n_keys; i++) {
		region.qpn = q->qpn;
		if (r->o->mr + i > q->n_mrs || inject_request_qp(r, r->o->mr + i, &region))
			break;
		r->live.region[i].rkey = region.rkey;
		r->live.region[i].va = region.va;
		r->live.n_regions = i + 1;
	}
	return 0;
}

/* --- sending -------------------------------------------------------------------------------- */

static void inject_note_sent(struct run *r, u32 nr, const struct proto_frame *f)
{
	struct json_object *o;

	if (f->why[0])
		r->dropped++;
	if (r->out) {
		o = json_object_new_object();
		json_add_int(o, "sent", nr);
		if (f->why[0])
			json_add_str(o, "dropped", f->why);
		json_object_array_add(r->out, o);
	} else if (f->why[0] && !r->script->path) {
		printf("frame %u: dropped: %s\n", nr, f->why);
	}
}

static int inject_send_frame(struct run *r, u32 nr, const struct inject_value *v, u32 n)
{
	const struct inject_frame *fr = &r->file->frame[nr - 1];
	struct proto_msg m = { .op = PROTO_INJECT_FRAME };
	int ret;

	if (fr->parsed == -ENOMSG)
		return print_error("replay: %s: frame %u: it is not an RDMA packet", r->file->path,
				   nr);
	ret = inject_frame_build(r->file, fr, &r->live, r->o->as_is, v, n, &m.frame);
	if (ret == -EMSGSIZE)
		return print_error("replay: %s: frame %u: expected at most %u bytes", r->file->path,
				   nr, PROTO_FRAME);
	if (ret)
		return print_error(
			"replay: %s: frame %u: it is malformed, its fields cannot be changed",
			r->file->path, nr);
	ret = ctl_call(r->sock, &m, NULL);
	if (ret == -ENXIO)
		snprintf(m.frame.why, sizeof(m.frame.why), "no device has its source address");
	else if (ret == -EREMOTE)
		return print_error(
			"replay: %s: frame %u: it is for another fabric: inject it there",
			r->file->path, nr);
	else if (ret)
		return -ctl_print_error(r->o, ret);
	r->sent++;
	inject_note_sent(r, nr, &m.frame);
	return 0;
}

static int inject_send_all(struct run *r, const struct inject_value *v, u32 n)
{
	u32 i;

	for (i = 0; i < r->file->n; i++)
		if (inject_is_peer_frame(r->file, i) && inject_send_frame(r, i + 1, v, n))
			return -1;
	return 0;
}

/* --- receiving ------------------------------------------------------------------------------ */

/* The next packet that is not ignored. Return: as inject_tap_next(). */
static int inject_next_packet(struct run *r, u64 until, struct roce_pkt *p)
{
	int ret;

	do
		ret = inject_tap_next(r->tap, until, p);
	while (!ret && (r->ignored & BIT64(inject_pkt_op(p))));
	if (!ret)
		r->seen++;
	return ret;
}

static int inject_print_tap_error(int err)
{
	return print_error("replay: %s", err == -ENOBUFS
						 ? "more packets came back than can be kept"
						 : "the capture of what comes back has ended");
}

static void inject_print_packet(struct run *r, const struct roce_pkt *p)
{
	struct json_object *o;
	char text[TEXT];

	if (!r->out) {
		inject_pkt_text(p, &r->live, text, sizeof(text));
		puts(text);
		return;
	}
	o = json_object_new_object();
	inject_pkt_json(p, &r->live, o);
	json_object_array_add(r->out, o);
}

static int inject_print_difference(const struct run *r, const struct inject_step *s,
				   const char *got)
{
	return print_error("replay: %s:%u: expected '%s', got %s", r->script->path, s->line,
			   s->text + strcspn(s->text, " \t") + 1, got);
}

static bool inject_is_expected(const struct run *r, const struct inject_step *s,
			       const struct roce_pkt *p)
{
	u32 i;

	if (!(s->ops & BIT64(inject_pkt_op(p))))
		return false;
	for (i = 0; i < s->n; i++)
		if (!inject_value_matches(&s->value[i], p, &r->live))
			return false;
	return true;
}

static int inject_expect_packet(struct run *r, const struct inject_step *s)
{
	struct roce_pkt p;
	char text[TEXT];
	int ret = inject_next_packet(r, real_ns() + s->ns, &p);

	if (ret == -ETIMEDOUT)
		return s->what == DO_NOTHING ? 0 : inject_print_difference(r, s, "nothing");
	if (ret)
		return inject_print_tap_error(ret);
	if (r->out)
		inject_print_packet(r, &p);
	if (s->what == DO_EXPECT && inject_is_expected(r, s, &p))
		return 0;
	inject_pkt_text(&p, &r->live, text, sizeof(text));
	return inject_print_difference(r, s, text);
}

/* --- steps ---------------------------------------------------------------------------------- */

static int inject_await_state(struct run *r, const struct inject_step *s)
{
	struct proto_inject q = { .qpn = r->live.q.qpn };
	u64 until = real_ns() + s->ns;
	int ret;

	while (!(ret = inject_request_qp(r, 1, &q)) && q.state != s->state && real_ns() < until)
		inject_sleep(LOOK_NS);
	if (ret == -ENOENT)
		return inject_print_difference(r, s, "no such queue pair any more");
	if (ret)
		return inject_print_not_found(r, ret, &q);
	return q.state == s->state ? 0 : inject_print_difference(r, s, ib_qp_state_name(q.state));
}

static int inject_run_send(struct run *r, const struct inject_step *s)
{
	u32 i, t;

	if (s->to > r->file->n)
		return print_error("replay: %s:%u: frame %u: expected one of the %u of %s",
				   r->script->path, s->line, s->to, r->file->n, r->file->path);
	for (t = 0; t < s->times; t++) {
		if (!s->from && inject_send_all(r, s->value, s->n))
			return -1;
		for (i = s->from; i && i <= s->to; i++)
			if (inject_send_frame(r, i, s->value, s->n))
				return -1;
	}
	return 0;
}

static int inject_run_step(struct run *r, const struct inject_step *s)
{
	switch (s->what) {
	case DO_SEND:
		return inject_run_send(r, s);
	case DO_EXPECT:
	case DO_NOTHING:
		return inject_expect_packet(r, s);
	case DO_WAIT:
		inject_sleep(s->ns);
		return 0;
	case DO_STATE:
		return inject_await_state(r, s);
	default:
		r->ignored = s->ops;
		return inject_tap_ignore(r->tap, s->ops) ? inject_print_tap_error(-EPIPE) : 0;
	}
}

static int inject_run_script(struct run *r)
{
	u32 i;

	for (i = 0; i < r->script->n; i++)
		if (inject_run_step(r, &r->script->step[i]))
			return -1;
	if (!r->out)
		printf("%u steps: %u packets sent, %u came back as expected\n", r->script->n,
		       r->sent, r->seen);
	return 0;
}

/* Send all packets of the peer, and print what comes back until there is a pause. */
static int inject_run_all(struct run *r)
{
	struct roce_pkt p;
	int ret = inject_send_all(r, NULL, 0);

	if (ret)
		return ret;
	while (!(ret = inject_next_packet(r, real_ns() + QUIET_NS, &p)))
		inject_print_packet(r, &p);
	return ret == -ETIMEDOUT ? 0 : inject_print_tap_error(ret);
}

int inject_run(const struct opts *o, const char *sock, const struct inject_file *file,
	       const struct inject_script *s)
{
	struct run r = { .o = o, .file = file, .script = s, .sock = ctl_connect(sock) };
	int ret;

	if (r.sock < 0)
		return ctl_print_error(o, r.sock);
	ret = inject_await_qp(&r);
	if (!ret) {
		r.tap = inject_tap_open(o, sock, &r.live);
		ret = r.tap ? 0 : -1;
	}
	if (!ret) {
		r.out = o->json ? json_object_new_array() : NULL;
		ret = s->path ? inject_run_script(&r) : inject_run_all(&r);
		if (r.out)
			json_print(stdout, r.out);
		inject_tap_close(r.tap);
	}
	close(r.sock);
	return ret ? 1 : 0;
}

int verb_inject(struct opts *o, const struct fabric_paths *p, int argc, char **argv)
{
	struct inject_script script = { 0 };
	struct inject_file file;
	int ret;

	if (argc > 1) {
		print_error("replay: unexpected argument '%s'; see 'rdmaemu replay --help'",
			    argv[1]);
		return EXIT_USAGE;
	}
	if (!o->mr)
		o->mr = 1;
	ret = inject_file_load(&file, argv[0]) ? EXIT_USAGE : 0;
	if (!ret && o->script[0])
		ret = inject_script_read(&script, o->script) ? EXIT_USAGE : 0;
	if (!ret)
		ret = inject_run(o, p->sock, &file, &script);
	inject_script_free(&script);
	inject_file_free(&file);
	return ret;
}
