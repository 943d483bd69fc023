/* SPDX-License-Identifier: MIT */
/**
 * DOC: fault rules.
 */
#include "fabric/proto/real_time.h"
#include "libctl/ctl.h"

#include <stdio.h>

/* Time between two requests in rdmaemu_fault_wait(), which doubles each time. */
#define NAP_MIN_NS 100000L
#define NAP_MAX_NS 5000000L

static int ctl_fault_missing(struct rdmaemu *r, int id)
{
	return ctl_fail(r, ENOENT, "fault %d: no such rule", id);
}

int rdmaemu_fault_add(struct rdmaemu *r, const char *rule)
{
	struct proto_msg m = { .op = PROTO_FAULT_ADD };

	if (strlen(rule) >= sizeof(m.fault.text))
		return ctl_fail(r, E2BIG, "fault: a rule has at most %zu characters",
				sizeof(m.fault.text) - 1);
	snprintf(m.fault.text, sizeof(m.fault.text), "%s", rule);
	if (ctl_handle_ask(r, &m, NULL))
		return -1;
	m.fault.text[sizeof(m.fault.text) - 1] = '\0';
	if (m.ret == -EINVAL && m.fault.text[0])
		return ctl_fail(r, EINVAL, "fault: %s", m.fault.text);
	if (m.ret)
		return ctl_refused(r, "fault", m.ret);
	if (!m.fault.n)
		return ctl_fail(r, EINVAL, "fault: expected a rule");
	return (int)m.fault.id;
}

int rdmaemu_fault_remove(struct rdmaemu *r, int id)
{
	struct proto_msg m = { .op = PROTO_FAULT_REMOVE, .fault.id = (u32)id };

	if (id <= 0)
		return ctl_fault_missing(r, id);
	if (ctl_handle_ask(r, &m, NULL))
		return -1;
	if (m.ret == -ENOENT)
		return ctl_fault_missing(r, id);
	return m.ret ? ctl_refused(r, "fault", m.ret) : 0;
}

int rdmaemu_fault_clear(struct rdmaemu *r)
{
	struct proto_msg m = { .op = PROTO_FAULT_CLEAR };

	if (ctl_handle_ask(r, &m, NULL))
		return -1;
	return m.ret ? ctl_refused(r, "fault", m.ret) : (int)m.fault.n;
}

int rdmaemu_fault_next(struct rdmaemu *r, int id, struct rdmaemu_fault *out)
{
	struct proto_msg m = { .op = PROTO_FAULT_NEXT, .fault.id = id < 0 ? 1 : (u32)id + 1 };

	if (ctl_handle_ask(r, &m, NULL))
		return -1;
	if (m.ret == -ENOENT)
		return 0;
	if (m.ret)
		return ctl_refused(r, "fault", m.ret);
	*out = (struct rdmaemu_fault){ .id = m.fault.id,
				       .seen = m.fault.seen,
				       .hits = m.fault.hits };
	snprintf(out->name, sizeof(out->name), "%.*s", (int)sizeof(m.fault.name), m.fault.name);
	snprintf(out->place, sizeof(out->place), "%.*s", (int)sizeof(m.fault.place), m.fault.place);
	snprintf(out->rule, sizeof(out->rule), "%.*s", (int)sizeof(m.fault.text), m.fault.text);
	return 1;
}

int rdmaemu_fault_get(struct rdmaemu *r, int id, struct rdmaemu_fault *out)
{
	struct rdmaemu_fault f = { .id = 0 };
	int ret;

	if (id <= 0)
		return ctl_fault_missing(r, id);
	ret = rdmaemu_fault_next(r, id - 1, &f);
	if (ret < 0)
		return -1;
	if (!ret || f.id != (u32)id)
		return ctl_fault_missing(r, id);
	*out = f;
	return 0;
}

int rdmaemu_fault_find(struct rdmaemu *r, const char *name)
{
	struct rdmaemu_fault f = { .id = 0 };
	int ret;

	while ((ret = rdmaemu_fault_next(r, (int)f.id, &f)) > 0)
		if (!strcmp(f.name, name))
			return (int)f.id;
	return ret < 0 ? ret : ctl_fail(r, ENOENT, "fault '%s': no such rule", name);
}

int64_t rdmaemu_fault_hits(struct rdmaemu *r, int id)
{
	struct rdmaemu_fault f = { .id = 0 };

	return rdmaemu_fault_get(r, id, &f) ? -1 : (int64_t)f.hits;
}

int rdmaemu_fault_wait(struct rdmaemu *r, int id, uint64_t hits, int timeout_ms)
{
	u64 end = real_ns() + (timeout_ms > 0 ? (u64)timeout_ms * 1000000 : 0);
	struct timespec nap = { .tv_nsec = NAP_MIN_NS };
	struct rdmaemu_fault f = { .id = 0 };

	for (;;) {
		if (rdmaemu_fault_get(r, id, &f))
			return -1;
		if (f.hits >= hits)
			return 0;
		if (timeout_ms >= 0 && real_ns() >= end)
			return ctl_fail(r, ETIMEDOUT,
					"fault %d: %llu hits of %llu in %d ms (%llu seen): %s", id,
					(unsigned long long)f.hits, (unsigned long long)hits,
					timeout_ms, (unsigned long long)f.seen, f.rule);
		nanosleep(&nap, NULL);
		nap.tv_nsec = 2 * nap.tv_nsec < NAP_MAX_NS ? 2 * nap.tv_nsec : NAP_MAX_NS;
	}
}
