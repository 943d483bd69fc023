/* SPDX-License-Identifier: MIT */
#include "traces/vtrace/devices.h"
#include "traces/vtrace/array.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 8u

/** struct line - a line, split into words. */
struct line {
	const char *path;
	unsigned int nr;
	unsigned int n;
	char *word[MAX_WORDS];
	struct vt_error *err;
};

static int devices_fail(const struct line *l, const char *expected)
{
	return vt_error_set(l->err, -EINVAL, "%s:%u: expected %s", l->path, l->nr, expected);
}

static int devices_split_words(struct line *l, char *text)
{
	char *save = NULL, *word;

	l->n = 0;
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (l->n == MAX_WORDS)
			return devices_fail(l, "at most 8 words");
		l->word[l->n++] = word;
	}
	return 0;
}

/* Decimal, or hexadecimal after 0x. */
static bool dev_word_number(const char *word, uint32_t max, uint32_t *to)
{
	unsigned long long v;
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	v = strtoull(word, &end, 0);
	*to = (uint32_t)v;
	return !errno && !*end && v <= max;
}

static int dev_word_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool dev_word_hex(const char *word, uint8_t *to, size_t n)
{
	size_t i;

	if (strlen(word) != 2 * n)
		return false;
	for (i = 0; i < 2 * n; i++) {
		if (dev_word_hex_digit(word[i]) < 0)
			return false;
		to[i / 2] = (uint8_t)(to[i / 2] << 4 | dev_word_hex_digit(word[i]));
	}
	return true;
}

static bool dev_word_guid(const char *word, uint64_t *to)
{
	uint8_t raw[8] = { 0 };
	size_t i;

	if (!dev_word_hex(word, raw, sizeof(raw)))
		return false;
	for (*to = 0, i = 0; i < sizeof(raw); i++)
		*to = *to << 8 | raw[i];
	return true;
}

static bool dev_word_one_of(const char *word, const char *const *names, uint32_t n, uint32_t *to)
{
	for (*to = 0; *to < n; ++*to)
		if (!strcmp(word, names[*to]))
			return true;
	return false;
}

static bool dev_word_name(const char *word, char to[VT_DEV_NAME])
{
	size_t len = strlen(word);

	if (len >= VT_DEV_NAME)
		return false;
	memcpy(to, word, len + 1);
	return true;
}

static int devices_read_device(struct vt_devices *d, const struct line *l)
{
	struct vt_device *dev;
	uint32_t nr;

	if (l->n != 4 || !dev_word_number(l->word[1], VT_MAX_DEVS - 1, &nr) || nr != d->n)
		return devices_fail(l, "'device NUMBER NAME GUID', numbered from 0 to at most 63");
	dev = vt_array_room(d->dev, d->n, sizeof(*dev));
	if (!dev)
		return vt_error_set(l->err, -ENOMEM, "%s: no memory", l->path);
	d->dev = dev;
	dev += d->n;
	memset(dev, 0, sizeof(*dev));
	if (!dev_word_name(l->word[2], dev->name))
		return devices_fail(l, "a name of at most 63 bytes");
	if (!dev_word_guid(l->word[3], &dev->guid))
		return devices_fail(l, "a GUID of 16 hexadecimal digits");
	d->n++;
	return 0;
}

static struct vt_device *devices_find(struct vt_devices *d, const struct line *l)
{
	uint32_t nr;

	return l->n > 1 && dev_word_number(l->word[1], UINT32_MAX, &nr) && nr < d->n ? &d->dev[nr]
										     : NULL;
}

static int devices_read_kind(struct vt_devices *d, const struct line *l)
{
	struct vt_device *dev = devices_find(d, l);

	if (l->n != 7 || !dev || dev->known || !dev_word_guid(l->word[2], &dev->system) ||
	    !dev_word_number(l->word[3], UINT32_MAX, &dev->vendor) ||
	    !dev_word_number(l->word[4], UINT32_MAX, &dev->part) ||
	    !dev_word_number(l->word[5], UINT32_MAX, &dev->hw) ||
	    !dev_word_name(l->word[6], dev->fw))
		return devices_fail(l,
				    "'kind DEVICE GUID VENDOR PART HW FIRMWARE', once of a device");
	dev->known = true;
	return 0;
}

static int devices_read_port(struct vt_devices *d, const struct line *l)
{
	struct vt_device *dev = devices_find(d, l);
	struct vt_port p = { .num = 0 }, *all;

	if (l->n != 7 || !dev || !dev_word_number(l->word[2], VT_MAX_PORTS, &p.num) ||
	    p.num <= (dev->n_ports ? dev->port[dev->n_ports - 1].num : 0) ||
	    !dev_word_one_of(l->word[3], vt_link_names, VT_LINK_COUNT, &p.link) ||
	    !dev_word_number(l->word[4], 0xffff, &p.lid) ||
	    !dev_word_number(l->word[5], 7, &p.lmc) ||
	    !dev_word_number(l->word[6], 0xffff, &p.sm_lid))
		return devices_fail(l,
				    "'port DEVICE PORT LINK LID LMC SM_LID', in ascending order, "
				    "1 to 16");
	all = vt_array_room(dev->port, dev->n_ports, sizeof(*all));
	if (!all)
		return vt_error_set(l->err, -ENOMEM, "%s: no memory", l->path);
	dev->port = all;
	all[dev->n_ports++] = p;
	return 0;
}

struct vt_port *vt_device_port(const struct vt_device *dev, uint32_t num)
{
	uint32_t i;

	for (i = 0; i < dev->n_ports; i++)
		if (dev->port[i].num == num)
			return &dev->port[i];
	return NULL;
}

static int devices_read_gid(struct vt_devices *d, const struct line *l)
{
	struct vt_device *dev = devices_find(d, l);
	struct vt_gid g = { .index = 0 }, *all;
	struct vt_port *p;
	uint32_t nr;

	if (l->n != 7 || !dev || !dev_word_number(l->word[2], VT_MAX_PORTS, &nr) ||
	    !(p = vt_device_port(dev, nr)) ||
	    !dev_word_number(l->word[3], VT_MAX_GIDS - 1, &g.index) ||
	    !dev_word_hex(l->word[4], g.raw, sizeof(g.raw)) ||
	    !dev_word_one_of(l->word[5], vt_gid_names, VT_GID_TYPES, &g.type) ||
	    !dev_word_number(l->word[6], UINT32_MAX, &g.ifindex))
		return devices_fail(l, "'gid DEVICE PORT INDEX GID TYPE INTERFACE'");
	if (p->n_gids && p->gid[p->n_gids - 1].index >= g.index)
		return devices_fail(l, "indexes that ascend");
	all = vt_array_room(p->gid, p->n_gids, sizeof(*all));
	if (!all)
		return vt_error_set(l->err, -ENOMEM, "%s: no memory", l->path);
	p->gid = all;
	all[p->n_gids++] = g;
	return 0;
}

static bool dev_word_ip(const char *word, uint8_t to[16])
{
	memset(to, 0, 16);
	to[10] = to[11] = 0xff;
	return inet_pton(AF_INET, word, to + 12) == 1 || inet_pton(AF_INET6, word, to) == 1;
}

static int devices_read_address(struct vt_devices *d, const struct line *l)
{
	struct vt_device *dev = devices_find(d, l);
	struct vt_port *p = NULL;
	uint8_t(*all)[16], raw[16];
	uint32_t nr;

	if (l->n != 4 || !dev || !dev_word_number(l->word[2], VT_MAX_PORTS, &nr) ||
	    !(p = vt_device_port(dev, nr)) || !dev_word_ip(l->word[3], raw))
		return devices_fail(l, "'address DEVICE PORT ADDRESS'");
	if (p->n_addrs == VT_MAX_ADDRS)
		return devices_fail(l, "at most 64 addresses of a port");
	all = vt_array_room(p->addr, p->n_addrs, sizeof(*all));
	if (!all)
		return vt_error_set(l->err, -ENOMEM, "%s: no memory", l->path);
	p->addr = all;
	memcpy(all[p->n_addrs++], raw, sizeof(raw));
	return 0;
}

static int devices_read_line(struct vt_devices *d, struct line *l, char *text)
{
	static const struct {
		const char *word;
		int (*read)(struct vt_devices *d, const struct line *l);
	} kinds[] = { { "device", devices_read_device },
		      { "kind", devices_read_kind },
		      { "port", devices_read_port },
		      { "gid", devices_read_gid },
		      { "address", devices_read_address } };
	int ret = devices_split_words(l, text);
	size_t i;

	for (i = 0; !ret && l->n && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(l->word[0], kinds[i].word))
			return kinds[i].read(d, l);
	return ret ? ret : devices_fail(l, "'device', 'kind', 'port', 'gid' or 'address'");
}

int vt_devices_parse(struct vt_devices *d, const char *path, char *text, struct vt_error *err)
{
	struct line l = { .path = path, .err = err };
	char *end;
	int ret = 0;

	memset(d, 0, sizeof(*d));
	for (; !ret && (end = strchr(text, '\n')); text = end + 1) {
		*end = '\0';
		l.nr++;
		ret = devices_read_line(d, &l, text);
	}
	return ret;
}

void vt_devices_free(struct vt_devices *d)
{
	uint32_t i, p;

	for (i = 0; i < d->n; i++) {
		for (p = 0; p < d->dev[i].n_ports; p++) {
			free(d->dev[i].port[p].gid);
			free(d->dev[i].port[p].addr);
		}
		free(d->dev[i].port);
	}
	free(d->dev);
	memset(d, 0, sizeof(*d));
}
