/* SPDX-License-Identifier: MIT */
/** DOC: checks all records of a program once, before any other code reads them. */
#include "traces/vtrace/check.h"
#include "traces/vtrace/write.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct check {
	struct vt_program *p;
	const char *path;
	struct vt_error *err;
	uint64_t off;
	uint32_t line; /* of the last VT_CALL */
};

static int check_fail(const struct check *c, const char *what)
{
	return vt_error_set(c->err, -EINVAL, "%s: at byte %llu: expected %s", c->path,
			    (unsigned long long)c->off, what);
}

static size_t rec_body_len(const struct vt_rec *rec)
{
	return rec->size - sizeof(*rec);
}

static int check_call(struct check *c, const struct vt_rec *rec)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	size_t len = rec_body_len(rec);

	if (len < sizeof(*call) || call->n_facts > VT_MAX_FACTS ||
	    len != sizeof(*call) + call->n_facts * sizeof(*call->fact))
		return check_fail(c, "as many values as the call says");
	if (!call->line || call->line > c->p->n_lines)
		return vt_error_set(c->err, -EINVAL,
				    "%s: at byte %llu: a call at line %u; calls has %u lines",
				    c->path, (unsigned long long)c->off, call->line, c->p->n_lines);
	/* Lines may lack a record: a thread was killed between the line and its record. */
	if (call->line <= c->line)
		return check_fail(c, "the call of a later line");
	c->line = call->line;
	return 0;
}

/* Checks one work request, which has at most @len bytes. */
static int check_wr(const struct check *c, const struct vt_wr *wr, size_t len)
{
	uint64_t need;

	if (len < sizeof(*wr) || wr->size > len || wr->size % 8 || wr->size < sizeof(*wr))
		return check_fail(c, "work requests as long as they say");
	if (wr->n_sge > VT_MAX_SGE)
		return check_fail(c, "at most 256 scatter/gather entries");
	need = sizeof(*wr) + (uint64_t)wr->n_sge * sizeof(struct vt_sge) + wr->tso_hdr +
	       (wr->flags & VT_WR_BYTES ? wr->payload : 0);
	if (((need + 7) & ~7ULL) != wr->size)
		return check_fail(c, "a work request with its entries and payload");
	if (wr->flags & VT_WR_BYTES && wr->flags & VT_WR_CRC &&
	    vt_crc(0, vt_wr_bytes(wr), wr->payload) != wr->crc)
		return check_fail(c, "the payload that the CRC was made of");
	return 0;
}

static int check_post(struct check *c, const struct vt_rec *rec)
{
	const struct vt_post *post = VT_BODY(vt_post, rec);
	size_t len = rec_body_len(rec);
	const struct vt_wr *wr;
	uint32_t i;
	int ret;

	if (len < sizeof(*post) || post->n > VT_MAX_WR)
		return check_fail(c, "a post of at most 65536 work requests");
	if (post->bad > post->n || post->obj > VT_MAX_OBJ)
		return check_fail(c, "a queue, and a bad_wr among the work requests");
	len -= sizeof(*post);
	wr = vt_wr_first(rec);
	for (i = 0; i < post->n; i++) {
		ret = check_wr(c, wr, len);
		if (ret)
			return ret;
		len -= wr->size;
		wr = vt_wr_next(wr);
	}
	return len ? check_fail(c, "nothing behind the work requests") : 0;
}

static int check_poll(struct check *c, const struct vt_rec *rec)
{
	const struct vt_poll *poll = VT_BODY(vt_poll, rec);
	size_t len = rec_body_len(rec);
	const struct vt_wc *wc;
	uint32_t i;

	if (len < sizeof(*poll) || poll->n > VT_MAX_WC ||
	    len != sizeof(*poll) + poll->n * sizeof(*wc))
		return check_fail(c, "as many completions as the poll says");
	if (poll->cq > VT_MAX_OBJ)
		return check_fail(c, "a CQ");
	for (i = 0, wc = vt_poll_wcs(rec); i < poll->n; i++)
		if (wc[i].qp > VT_MAX_OBJ)
			return check_fail(c, "a completion of a QP");
	return 0;
}

static int check_mem(struct check *c, const struct vt_rec *rec)
{
	const struct vt_mem *mem = VT_BODY(vt_mem, rec);
	size_t len = rec_body_len(rec);

	if (len < sizeof(*mem) || len != sizeof(*mem) + (((size_t)mem->stored + 7) & ~(size_t)7))
		return check_fail(c, "as many bytes of memory as the record says");
	if (mem->what > VT_MEM_FINAL || mem->mr > VT_MAX_OBJ ||
	    (mem->stored && mem->stored != mem->len) || mem->off + mem->len < mem->off)
		return check_fail(c, "memory of an MR");
	if (mem->stored && vt_crc(0, vt_mem_bytes(rec), mem->stored) != mem->crc)
		return check_fail(c, "the memory that the CRC was made of");
	return 0;
}

static int check_dm(struct check *c, const struct vt_rec *rec)
{
	const struct vt_dm *dm = VT_BODY(vt_dm, rec);
	size_t len = rec_body_len(rec);

	if (len < sizeof(*dm) || len != sizeof(*dm) + (((size_t)dm->stored + 7) & ~(size_t)7))
		return check_fail(c, "as many bytes of device memory as the record says");
	if (dm->dm > VT_MAX_OBJ || (dm->stored && (!dm->to || dm->stored != dm->len)))
		return check_fail(c, "a copy from or to a DM");
	if (dm->stored && vt_crc(0, vt_dm_bytes(rec), dm->stored) != dm->crc)
		return check_fail(c, "the device memory that the CRC was made of");
	return 0;
}

static int check_cqop(struct check *c, const struct vt_rec *rec)
{
	const struct vt_cqop *op = VT_BODY(vt_cqop, rec);

	if (rec_body_len(rec) != sizeof(*op) || op->cq > VT_MAX_OBJ || op->obj2 > VT_MAX_OBJ)
		return check_fail(c, "an operation on a CQ");
	return 0;
}

static int check_note(struct check *c, const struct vt_rec *rec)
{
	const struct vt_note *note = VT_BODY(vt_note, rec);

	if (rec_body_len(rec) < sizeof(*note) || note->len > rec_body_len(rec) - sizeof(*note) ||
	    memchr(note->text, '\0', note->len))
		return check_fail(c, "a note of text");
	return 0;
}

static int check_body(struct check *c, const struct vt_rec *rec)
{
	if (vt_is_post(rec->kind))
		return check_post(c, rec);
	switch ((enum vt_kind)rec->kind) {
	case VT_CALL:
		return check_call(c, rec);
	case VT_DM:
		return check_dm(c, rec);
	case VT_POLL:
		return check_poll(c, rec);
	case VT_NOTIFY:
	case VT_CQ_EVENT:
	case VT_ACK:
	case VT_EMPTY:
		return check_cqop(c, rec);
	case VT_MEM:
		return check_mem(c, rec);
	case VT_NOTE:
		return check_note(c, rec);
	case VT_END:
		c->p->ended = true;
		return rec_body_len(rec) == sizeof(struct vt_end)
			       ? 0
			       : check_fail(c, "the end of a program");
	default:
		return check_fail(c, "a record of a known kind");
	}
}

static int check_rec(struct check *c, const struct vt_rec *rec)
{
	uint32_t crc = vt_crc(0, &rec->kind, rec->size - offsetof(struct vt_rec, kind));

	if ((crc ? crc : 1) != rec->check)
		return check_fail(c, "a record that its check (CRC-32) was made of");
	if (rec->thread > VT_MAX_THREADS)
		return check_fail(c, "at most 1024 threads");
	if (!rec->begin || rec->end < rec->begin)
		return check_fail(c, "a call that ends after it has begun");
	if (rec->thread > c->p->n_threads)
		c->p->n_threads = rec->thread;
	c->p->n_recs++;
	return check_body(c, rec);
}

static int check_head(const struct check *c)
{
	const struct vt_head *h = (const struct vt_head *)c->p->data;

	/* The writer has allocated the file, but has not written the head yet. */
	if (c->p->mapped >= sizeof(*h) && !h->magic && !h->order && !h->version)
		return 0;
	if (c->p->mapped < sizeof(*h) || h->magic != VT_MAGIC)
		return check_fail(c, "the data file of a trace");
	if (h->order != VT_ORDER)
		return check_fail(c, "a trace of a machine with this byte order");
	if (h->version != VT_VERSION)
		return vt_error_set(c->err, -EPROTO,
				    "%s: data of version %u; this reader knows version %u", c->path,
				    h->version, VT_VERSION);
	return 0;
}

/* Whether a live writer has extended the file since it was mapped. */
static bool check_has_grown(const struct check *c)
{
	struct stat st;

	return !stat(c->path, &st) && (uint64_t)st.st_size > c->p->mapped;
}

/*
 * Whether a live writer has appended the line of a call since the lines were read, which is before
 * the records are.
 */
static bool check_line_is_new(const struct check *c, const struct vt_rec *rec)
{
	const struct vt_call *call = VT_BODY(vt_call, rec);
	char path[PATH_MAX + 32];
	struct stat st;

	if (rec->kind != VT_CALL || rec_body_len(rec) < sizeof(*call) ||
	    call->line <= c->p->n_lines)
		return false;
	/* The path ends with "data". */
	snprintf(path, sizeof(path), "%.*scalls", (int)strlen(c->path) - 4, c->path);
	return !stat(path, &st) && (uint64_t)st.st_size > c->p->calls_len;
}

int vt_program_check(struct vt_program *p, const char *path, struct vt_error *err)
{
	struct check c = { .p = p, .path = path, .err = err };
	int ret = check_head(&c);
	struct vt_rec *rec;

	p->begun = !ret && ((const struct vt_head *)p->data)->magic == VT_MAGIC;
	p->n_recs = p->unfinished = 0;
	p->n_threads = 0;
	p->ended = false;
	for (c.off = sizeof(struct vt_head); !ret && p->mapped - c.off >= sizeof(*rec);
	     c.off += rec->size) {
		rec = (struct vt_rec *)(p->data + c.off);
		if (!__atomic_load_n(&rec->size, __ATOMIC_ACQUIRE))
			break;
		if (rec->size > p->mapped - c.off && check_has_grown(&c))
			break;
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->size > VT_MAX_REC ||
		    rec->size > p->mapped - c.off)
			return check_fail(&c,
					  "a record within the file; it is cut short or damaged");
		if (__atomic_load_n(&rec->check, __ATOMIC_ACQUIRE)) {
			if (check_line_is_new(&c, rec))
				break;
			ret = check_rec(&c, rec);
		} else {
			/*
			 * The store makes our private copy of the page, which a live writer cannot
			 * change any more.
			 */
			__atomic_store_n(&rec->check, 0, __ATOMIC_RELAXED);
			p->unfinished++;
		}
		if (rec->kind == VT_END) {
			/* The writer truncates the file here. */
			c.off += rec->size;
			break;
		}
	}
	p->size = c.off;
	return ret;
}
