/* SPDX-License-Identifier: MIT */
/*
 * The contents of registered memory.
 *
 * A replay must send the bytes that the program sent. So the trace has the contents of each MR at
 * registration, and what the program has written there since. The shadow of an MR is what the trace
 * says about its contents. Before bytes are sent, they are compared with the shadow. Memory that
 * peers can read is compared as a whole, within a bound, whenever the program does something that
 * peers could learn of. Differences are recorded (VT_MEM_CHANGED) and copied to the shadow. Some of
 * them may have been written by peers or by receives: the same bytes arrive there in the replay.
 *
 * A received message changes memory, and the program may then restore what the shadow has. For the
 * replay that is a change. So the grains in which a message differs from the shadow are marked, and
 * recorded as a whole when they are compared next.
 */
#include "traces/record/memory.h"
#include "traces/record/object.h"
#include "traces/record/record.h"
#include "traces/record/session.h"

#include <sys/mman.h>

#define GRAIN	   64u /* equal bytes that separate two recorded differences */
#define SCAN_MAX   (1u << 20) /* most bytes of exposed memory to compare at a time */
#define SCAN_SMALL (64u << 10) /* up to this size, compared before every send */
#define FREE_NS	   2000000000u /* total time of comparing, after which it is limited */
#define TARGETS	   64u /* most MRs to search for a key */
#define PAGE	   4096u
#define FINAL_MAX  (256ull << 20)

/* Protects the shadows, and the lists of shadows and exposed MRs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_obj *exposed;
static struct rec_obj *shadows;

/*
 * Writes a record about memory with order @number, or a new one if that is 0. Without @bytes it has
 * only the CRC of the memory.
 */
static void rec_mem_record(const struct rec_obj *o, enum vt_mem_what what, u64 off, u64 len,
			   const void *bytes, u64 number)
{
	struct vt_mem *body;
	struct vt_rec *r;
	u32 crc;

	crc = bytes ? vt_crc(0, bytes, len) : rec_mem_crc(0, o->mr.addr + off, len);
	r = rec_record_begin(VT_MEM, sizeof(*body) + (bytes ? len : 0));
	if (!r)
		return;
	body = vt_rec_body(r);
	body->mr = o->tap->ord;
	body->what = what;
	body->off = off;
	body->len = len;
	body->crc = crc;
	if (bytes) {
		body->stored = (u32)len;
		memcpy(body + 1, bytes, len);
	}
	r->thread = rec_thread.ord;
	r->begin = r->end = number ? number : vt_order_next(&rec.w);
	r->t_begin = r->t_end = vt_now();
	vt_rec_commit(r);
}

static bool rec_mr_overlaps(const struct rec_mr *a, const struct rec_mr *b)
{
	return a->addr < b->addr + b->len && b->addr < a->addr + a->len;
}

/* Copies recorded contents to the shadows of other MRs of the same memory. */
static void rec_shadow_update_twins(const struct rec_obj *o, u64 addr, const u8 *bytes, u64 len)
{
	struct rec_obj *t;
	u64 from, to;

	for (t = o->mr.twin ? shadows : NULL; t; t = t->mr.next_shadow) {
		from = t->mr.addr > addr ? t->mr.addr : addr;
		to = t->mr.addr + t->mr.len < addr + len ? t->mr.addr + t->mr.len : addr + len;
		if (t != o && from < to)
			memcpy(t->mr.shadow + (from - t->mr.addr), bytes + (from - addr),
			       to - from);
	}
}

/*
 * Compares a piece of memory, which has been read, with the shadow; records differences and updates
 * the shadow. The caller holds the lock.
 */
static void rec_shadow_compare(struct rec_obj *o, enum vt_mem_what what, u64 off, const u8 *now,
			       size_t len, u64 number)
{
	u8 *was = o->mr.shadow + off;
	size_t from = 0, to;

	while (from < len) {
		size_t n = len - from < GRAIN ? len - from : GRAIN;

		if (!memcmp(now + from, was + from, n)) {
			from += n;
			continue;
		}
		while (now[from] == was[from])
			from++;
		/* The difference ends before GRAIN equal bytes. */
		for (to = from + 1, n = 0; to < len && n < GRAIN; to++)
			n = now[to] == was[to] ? n + 1 : 0;
		to -= n;
		rec_mem_record(o, what, off + from, to - from, now + from, number);
		memcpy(was + from, now + from, to - from);
		rec_shadow_update_twins(o, o->mr.addr + off + from, now + from, to - from);
		from = to;
	}
}

/* A bitmap of grains follows the shadow. */
static u64 rec_shadow_alloc_size(u64 len)
{
	return ALIGN_UP(len, 8) + (len + 64ul * GRAIN - 1) / (64ul * GRAIN) * 8;
}

static u64 *rec_landed_bitmap_word(const struct rec_obj *o, u64 grain)
{
	return (u64 *)(void *)(o->mr.shadow + ALIGN_UP(o->mr.len, 8)) + grain / 64;
}

void rec_mem_landed(u64 addr, const u8 *bytes, u64 len)
{
	struct rec_obj *o;
	u64 at, next, end;

	pthread_mutex_lock(&lock);
	for (o = shadows; o; o = o->mr.next_shadow) {
		at = addr > o->mr.addr ? addr - o->mr.addr : 0;
		end = addr + len > o->mr.addr ? min_u64(addr + len - o->mr.addr, o->mr.len) : 0;
		for (; at < end; at = next) {
			next = min_u64((at / GRAIN + 1) * GRAIN, end);
			if (!memcmp(o->mr.shadow + at, bytes + (o->mr.addr + at - addr), next - at))
				continue;
			*rec_landed_bitmap_word(o, at / GRAIN) |= 1ull << at / GRAIN % 64;
			o->mr.landed = true;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* Whether a grain of the range is marked. The caller holds the lock. */
static bool rec_landed_is_marked(const struct rec_obj *o, u64 off, size_t len)
{
	u64 grain, last = (off + len - 1) / GRAIN;

	for (grain = off / GRAIN; o->mr.landed && grain <= last; grain++)
		if (*rec_landed_bitmap_word(o, grain) >> grain % 64 & 1)
			return true;
	return false;
}

/*
 * Makes the shadow of marked grains differ in every byte from the contents @now. Unmarks grains
 * that are completely in the range. The caller holds the lock.
 */
static void rec_landed_invalidate_shadow(struct rec_obj *o, u64 off, const u8 *now, size_t len)
{
	u64 at, next, grain, i;

	for (at = off; at < off + len; at = next) {
		grain = at / GRAIN;
		next = min_u64((grain + 1) * GRAIN, off + len);
		if (!(*rec_landed_bitmap_word(o, grain) >> grain % 64 & 1))
			continue;
		for (i = at; i < next; i++)
			o->mr.shadow[i] = (u8)~now[i - off];
		if (at == grain * GRAIN && next == min_u64(at + GRAIN, o->mr.len))
			*rec_landed_bitmap_word(o, grain) &= ~(1ull << grain % 64);
	}
}

/* Compares memory of an MR with its shadow, and records differences. The caller holds the lock. */
static void rec_mr_scan(struct rec_obj *o, enum vt_mem_what what, u64 off, u64 len)
{
	u8 *b = rec_thread.bounce;
	bool landed;
	u64 number;
	size_t n;

	for (; len; off += n, len -= n) {
		n = len < REC_BOUNCE ? len : REC_BOUNCE;
		if (o->mr.on_demand) {
			size_t skip = rec_mem_untouched_bytes(o->mr.addr + off, n);

			if (skip) {
				n = skip;
				continue;
			}
			n = n < PAGE ? n : PAGE;
		}
		if (!rec_mem_read(b, o->mr.addr + off, n))
			return;
		landed = rec_landed_is_marked(o, off, n);
		if (!landed && !memcmp(b, o->mr.shadow + off, n))
			continue;
		/*
		 * Read again after taking the number: the recorded contents must include what peers
		 * did before it.
		 */
		number = vt_order_next(&rec.w);
		if (!rec_mem_read(b, o->mr.addr + off, n))
			return;
		if (landed)
			rec_landed_invalidate_shadow(o, off, b, n);
		rec_shadow_compare(o, what, off, b, n, number);
	}
}

static void rec_shadow_alloc(struct rec_obj *o)
{
	u64 left = load_relaxed(&rec.room);
	void *mem;

	if (o->mr.len > left) {
		rec_note("mr%u: no room for %llu bytes of contents: only their hash is recorded",
			 o->tap->ord, (unsigned long long)o->mr.len);
		return;
	}
	mem = mmap(NULL, rec_shadow_alloc_size(o->mr.len), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return;
	madvise(mem, rec_shadow_alloc_size(o->mr.len), MADV_DONTFORK);
	__atomic_sub_fetch(&rec.room, o->mr.len, __ATOMIC_RELAXED);
	o->mr.shadow = mem;
}

/*
 * Marks MRs that share memory, and compares the others first, so that their shadows are valid from
 * now on. The caller holds the lock.
 */
static void rec_shadow_find_twins(struct rec_obj *o)
{
	struct rec_obj *t;

	for (t = shadows; t; t = t->mr.next_shadow) {
		if (!rec_mr_overlaps(&t->mr, &o->mr))
			continue;
		rec_mr_scan(t, VT_MEM_CHANGED, 0, t->mr.len);
		t->mr.twin = o->mr.twin = true;
	}
	o->mr.next_shadow = shadows;
	shadows = o;
}

void rec_mr_new(struct rec_obj *o, u64 addr, u64 len, u64 iova, u64 access)
{
	o->mr.addr = addr;
	o->mr.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	o->mr.len = addr ? len : 0;
	o->mr.on_demand = access & IBV_ACCESS_ON_DEMAND;
	/* The whole address space, on demand. */
	if (addr + len < addr)
		o->mr.len = 0;
	if (!o->mr.len || rec.payload == REC_NONE)
		return;
	if (rec.payload == REC_FULL)
		rec_shadow_alloc(o);
	pthread_mutex_lock(&lock);
	if (o->mr.shadow) {
		rec_shadow_find_twins(o);
		rec_mr_scan(o, VT_MEM_FIRST, 0, o->mr.len);
	} else if (o->mr.len <= FINAL_MAX && !o->mr.on_demand) {
		rec_mem_record(o, VT_MEM_FIRST, 0, o->mr.len, NULL, 0);
	}
	o->mr.exposed =
		o->mr.shadow && (access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	if (o->mr.exposed) {
		o->mr.next = exposed;
		exposed = o;
	}
	pthread_mutex_unlock(&lock);
}

void rec_mr_final(struct rec_obj *o)
{
	if (!o || !o->mr.len || rec.payload == REC_NONE || !o->tap->ord)
		return;
	pthread_mutex_lock(&lock);
	if (o->mr.shadow)
		rec_mr_scan(o, VT_MEM_CHANGED, 0, o->mr.len);
	if (o->mr.len <= FINAL_MAX && rec_mem_is_readable(o->mr.addr, o->mr.len))
		rec_mem_record(o, VT_MEM_FINAL, 0, o->mr.len, NULL, 0);
	else
		rec_note("mr%u: its %llu bytes are unmapped, or too many for a hash", o->tap->ord,
			 (unsigned long long)o->mr.len);
	pthread_mutex_unlock(&lock);
}

void rec_mr_free(struct rec_obj *o)
{
	struct rec_obj **at;

	pthread_mutex_lock(&lock);
	for (at = &exposed; *at; at = &(*at)->mr.next)
		if (*at == o) {
			*at = o->mr.next;
			break;
		}
	for (at = &shadows; *at; at = &(*at)->mr.next_shadow)
		if (*at == o) {
			*at = o->mr.next_shadow;
			break;
		}
	if (o->mr.shadow) {
		munmap(o->mr.shadow, rec_shadow_alloc_size(o->mr.len));
		__atomic_add_fetch(&rec.room, o->mr.len, __ATOMIC_RELAXED);
	}
	memset(&o->mr, 0, sizeof(o->mr));
	pthread_mutex_unlock(&lock);
}

/* Returns the bytes that peers can read. */
static u64 rec_mr_exposed_bytes(void)
{
	const struct rec_obj *o;
	u64 sum = 0;

	for (o = exposed; o; o = o->mr.next)
		sum += o->mr.len;
	return sum;
}

/*
 * Comparing a large amount before every send would take all of the time. After the first seconds it
 * takes at most half of it, and a change may be recorded after a peer has read it.
 */
static bool rec_scan_is_too_soon(u64 all, u64 rest_until)
{
	static bool noted;

	if (all <= SCAN_SMALL || vt_now() >= rest_until)
		return false;
	if (!noted)
		rec_note("peers can read %llu bytes: they are not compared before each send",
			 (unsigned long long)all);
	noted = true;
	return true;
}

void rec_mem_scan_exposed(bool send)
{
	static u64 turn; /* where the next scan continues, if one does not cover all */
	static u64 rest_until;
	static u64 spent; /* ns */
	u64 max = load_relaxed(&spent) < FREE_NS ? UINT64_MAX : SCAN_MAX;
	u64 left = max, all, at, len, start;
	struct rec_obj *o;

	if (likely(!load_relaxed(&exposed)))
		return;
	pthread_mutex_lock(&lock);
	all = rec_mr_exposed_bytes();
	if (turn >= all || all <= max)
		turn = 0;
	start = vt_now();
	if (send && max == SCAN_MAX && rec_scan_is_too_soon(all, rest_until))
		left = 0;
	for (o = exposed, at = turn; o && left; o = o->mr.next) {
		if (at >= o->mr.len) {
			at -= o->mr.len;
			continue;
		}
		len = o->mr.len - at < left ? o->mr.len - at : left;
		rec_mr_scan(o, VT_MEM_CHANGED, at, len);
		turn += len;
		left -= len;
		at = 0;
	}
	if (left != max && all > SCAN_SMALL) {
		u64 now = vt_now();

		store_relaxed(&spent, spent + (now - start));

		if (now >= rest_until)
			rest_until = now + (now - start);
	}
	pthread_mutex_unlock(&lock);
}

void rec_mem_scan_rkey(u32 rkey, u64 addr, u64 len)
{
	struct rec_obj *o;
	u64 off;
	u32 n = 0;

	if (!load_relaxed(&exposed))
		return;
	pthread_mutex_lock(&lock);
	for (o = exposed; o && n < TARGETS; o = o->mr.next, n++) {
		off = addr - o->mr.iova;
		if (o->mr.rkey == rkey && len <= o->mr.len && off <= o->mr.len - len) {
			rec_mr_scan(o, VT_MEM_CHANGED, off, len);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

bool rec_mem_scan_sge(struct rec_obj *o, u64 addr, u32 len)
{
	u64 off = addr - o->mr.iova;

	if (!o->mr.shadow || len > o->mr.len || off > o->mr.len - len)
		return false;
	pthread_mutex_lock(&lock);
	rec_mr_scan(o, VT_MEM_CHANGED, off, len);
	pthread_mutex_unlock(&lock);
	return true;
}

u64 rec_mr_address(const struct rec_obj *mr, u64 addr)
{
	return mr && mr->mr.len ? addr - mr->mr.iova + mr->mr.addr : addr;
}

void rec_mr_forget(struct tap_obj *mr)
{
	struct rec_obj *o = rec_obj_of(mr);

	pthread_mutex_init(&lock, NULL);
	exposed = shadows = NULL;
	if (o)
		memset(&o->mr, 0, sizeof(o->mr));
}
