// SPDX-License-Identifier: MIT
/*
 * Theory of operation
 * -------------------
 * The tree mirrors what the kernel shows of a RoCE device, as far as programs look (UCX, NCCL,
 * libfabric, ibstat, ...), with a made-up PCI function behind each device:
 *
 *	sys/devices/pci0fab:BB/0fab:BB:DD.0/		vendor, device, numa_node, local_cpus, ...
 *		infiniband/NAME/			node_guid, fw_ver, ports/1/..., device ->
 *		infiniband_verbs/uverbsN/		ibdev, dev, device ->
 *		net/NDEV -> /sys/class/net/NDEV
 *	sys/class/infiniband/NAME ->			relative, so that the kernel resolves them
 *	sys/class/infiniband_verbs/uverbsN ->		within the tree
 *	dev/infiniband/uverbsN				a plain file, shown as a device by the shim
 *
 * All of it is made relative to a descriptor of the root and without following symlinks, so that
 * nothing outside can be touched whatever was left in the directory.
 *
 * The kernel answers the read of a GID attribute with EINVAL when the entry is unused. The file is
 * left empty for that; the shim (path_open.c) knows what an empty one stands for.
 */
#include "fabric/sysfs.h"

#include "fabric/version.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/*
 * struct tree - where the next files go. An error sticks in @err (-errno) and turns the functions
 * below into no-ops, so that a long list of files needs no check after each.
 */
struct tree {
	int root;
	int dir;
	int err;
};

static void tree_fail(struct tree *t)
{
	if (!t->err)
		t->err = -errno;
}

/* Opens a directory that exists; also fails where the kernel lacks the call. */
static int open_below(int root, const char *path)
{
	struct open_how how = {
		.flags = DIR_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Opens a directory, making what is missing on the way to it. */
static int make_below(int root, char *path)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char *name;

	while (fd >= 0 && (name = strsep(&path, "/"))) {
		int saved, parent = fd;

		fd = -1;
		if (!mkdirat(parent, name, 0755) || errno == EEXIST)
			fd = openat(parent, name, DIR_FLAGS);
		saved = errno;
		close(parent);
		errno = saved;
	}
	return fd;
}

/* Go to a directory below the root. */
__attribute__((format(printf, 2, 3))) static void tree_cd(struct tree *t, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int fd, n;

	if (t->err)
		return;
	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		t->err = -ENAMETOOLONG;
		return;
	}
	fd = open_below(t->root, path);
	if (fd < 0)
		fd = make_below(t->root, path);
	if (fd < 0) {
		tree_fail(t);
		return;
	}
	if (t->dir >= 0)
		close(t->dir);
	t->dir = fd;
}

/* A file in the current directory, replacing what it held. */
static void tree_write(struct tree *t, const char *name, mode_t mode, const char *text, size_t len)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd;

	if (t->err)
		return;
	/* An older file is read-only even for its owner: replace it. */
	fd = openat(t->dir, name, flags, mode);
	if (fd < 0 && errno == EEXIST && !unlinkat(t->dir, name, 0))
		fd = openat(t->dir, name, flags, mode);
	if (fd < 0) {
		tree_fail(t);
		return;
	}
	/* fchmod(): the umask must not take away what programs look for. */
	if (fchmod(fd, mode) || (len && write(fd, text, len) != (ssize_t)len))
		tree_fail(t);
	if (close(fd))
		tree_fail(t);
}

__attribute__((format(printf, 3, 4))) static void tree_attr(struct tree *t, const char *name,
							    const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text) - 1) {
		t->err = t->err ? t->err : -ENAMETOOLONG;
		return;
	}
	text[n] = '\n';
	tree_write(t, name, 0444, text, (size_t)n + 1);
}

static void tree_link(struct tree *t, const char *name, const char *target)
{
	if (t->err)
		return;
	if ((unlinkat(t->dir, name, 0) && errno != ENOENT) || symlinkat(target, t->dir, name))
		tree_fail(t);
}

/* Names and paths of one device within the tree. */
struct sysfs_names {
	char bdf[32]; /* 0fab:00:01.0 */
	char pci[64]; /* devices/pci0fab:00/0fab:00:01.0 */
	char uverbs[20];
	char guid[24];
};

static void names_init(struct sysfs_names *n, const struct sysfs_dev *dev, int uverbs)
{
	u32 bus = dev->index >> 5, slot = dev->index & 31;

	snprintf(n->bdf, sizeof(n->bdf), "0fab:%02x:%02x.0", bus, slot);
	snprintf(n->pci, sizeof(n->pci), "devices/pci0fab:%02x/%s", bus, n->bdf);
	snprintf(n->uverbs, sizeof(n->uverbs), "uverbs%d", uverbs);
	snprintf(n->guid, sizeof(n->guid), "%04x:%04x:%04x:%04x", (u32)(dev->guid >> 48) & 0xffff,
		 (u32)(dev->guid >> 32) & 0xffff, (u32)(dev->guid >> 16) & 0xffff,
		 (u32)dev->guid & 0xffff);
}

/* The machine's CPUs as the kernel prints masks and lists. */
static void put_cpus(struct tree *t)
{
	long n = sysconf(_SC_NPROCESSORS_CONF), words, i;
	char mask[512];
	size_t len = 0;

	if (n < 1)
		n = 1;
	words = (n + 31) / 32;
	for (i = words - 1; i >= 0 && len < sizeof(mask) - 10; i--) {
		u32 word = (i == words - 1 && n % 32) ? (1u << (n % 32)) - 1 : 0xffffffffu;

		len += (size_t)snprintf(mask + len, sizeof(mask) - len, "%08x%s", word,
					i ? "," : "");
	}
	tree_attr(t, "local_cpus", "%s", mask);
	if (n == 1)
		tree_attr(t, "local_cpulist", "0");
	else
		tree_attr(t, "local_cpulist", "0-%ld", n - 1);
}

/* The PCI function: what says where the device sits in the machine. */
static void put_pci(struct tree *t, const struct sysfs_dev *dev, const struct sysfs_names *n)
{
	char target[64];
	u32 i;

	tree_cd(t, "sys/%s", n->pci);
	tree_attr(t, "vendor", "0x%04x", IDENT_PCI_VENDOR);
	tree_attr(t, "device", "0x%04x", IDENT_PART);
	tree_attr(t, "subsystem_vendor", "0x%04x", IDENT_PCI_VENDOR);
	tree_attr(t, "subsystem_device", "0x%04x", IDENT_PART);
	tree_attr(t, "class", "0x020700"); /* network controller, InfiniBand */
	tree_attr(t, "revision", "0x%02x", IDENT_HW_REV);
	tree_attr(t, "numa_node", "%d", dev->numa_node);
	tree_attr(t, "current_link_speed", "16.0 GT/s PCIe");
	tree_attr(t, "max_link_speed", "16.0 GT/s PCIe");
	tree_attr(t, "current_link_width", "16");
	tree_attr(t, "max_link_width", "16");
	put_cpus(t);
	for (i = 0; i < SYSFS_GIDS; i++) {
		const struct sysfs_gid *gid = &dev->gid[i];

		if (!gid->valid || !gid->ndev[0] || strchr(gid->ndev, '/'))
			continue;
		snprintf(target, sizeof(target), "/sys/class/net/%.15s", gid->ndev);
		tree_cd(t, "sys/%s/net", n->pci);
		tree_link(t, gid->ndev, target);
	}
}

/* A file per GID entry. The kernel shows an unused GID as zeros, of its attributes nothing. */
static void put_gids(struct tree *t, const struct sysfs_dev *dev, const char *port)
{
	char name[8];
	u32 i, b;

	tree_cd(t, "%s/gids", port);
	for (i = 0; i < SYSFS_GIDS; i++) {
		const struct sysfs_gid *gid = &dev->gid[i];
		char text[48];
		size_t len = 0;

		for (b = 0; b < 16; b += 2)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x%02x",
						b ? ":" : "", gid->valid ? gid->raw[b] : 0,
						gid->valid ? gid->raw[b + 1] : 0);
		snprintf(name, sizeof(name), "%u", i);
		tree_attr(t, name, "%s", text);
	}
	tree_cd(t, "%s/gid_attrs/types", port);
	for (i = 0; i < SYSFS_GIDS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (dev->gid[i].valid)
			tree_attr(t, name, dev->gid[i].type == 2 ? "RoCE v2" : "IB/RoCE v1");
		else
			tree_write(t, name, 0444, "", 0);
	}
	tree_cd(t, "%s/gid_attrs/ndevs", port);
	for (i = 0; i < SYSFS_GIDS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (dev->gid[i].valid && dev->gid[i].ndev[0])
			tree_attr(t, name, "%.15s", dev->gid[i].ndev);
		else
			tree_write(t, name, 0444, "", 0);
	}
}

static void put_counters(struct tree *t, const char *port)
{
	/* The kernel's names (drivers/infiniband/core/sysfs.c); rxe's for hw_counters. */
	static const char *const counters[] = {
		"VL15_dropped",
		"excessive_buffer_overrun_errors",
		"link_downed",
		"link_error_recovery",
		"local_link_integrity_errors",
		"multicast_rcv_packets",
		"multicast_xmit_packets",
		"port_rcv_constraint_errors",
		"port_rcv_data",
		"port_rcv_errors",
		"port_rcv_packets",
		"port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_constraint_errors",
		"port_xmit_data",
		"port_xmit_discards",
		"port_xmit_packets",
		"port_xmit_wait",
		"symbol_error",
		"unicast_rcv_packets",
		"unicast_xmit_packets",
	};
	static const char *const hw_counters[] = {
		"ack_deferred",
		"completer_retry_err",
		"duplicate_request",
		"lifespan",
		"link_downed",
		"out_of_seq_request",
		"rcvd_pkts",
		"rcvd_rnr_err",
		"rcvd_seq_err",
		"rdma_recvs",
		"rdma_sends",
		"retry_exceeded_err",
		"retry_rnr_exceeded_err",
		"send_err",
		"send_rnr_err",
		"sent_pkts",
	};
	u32 i;

	tree_cd(t, "%s/counters", port);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		tree_attr(t, counters[i], "0");
	tree_cd(t, "%s/hw_counters", port);
	for (i = 0; i < ARRAY_SIZE(hw_counters); i++)
		tree_attr(t, hw_counters[i], "0");
}

static void put_port(struct tree *t, const struct sysfs_dev *dev, const char *port)
{
	/* enum ibv_port_state */
	static const char *const states[] = { "NOP",   "DOWN",	 "INIT",
					      "ARMED", "ACTIVE", "ACTIVE_DEFER" };
	u32 state = dev->port_state < ARRAY_SIZE(states) ? dev->port_state : 0;
	u32 rate = dev->rate_gbps ? dev->rate_gbps : 100;
	const char *speed = rate == 100 ? " (4X EDR)" : "";

	tree_cd(t, "%s", port);
	tree_attr(t, "state", "%u: %s", state, states[state]);
	tree_attr(t, "phys_state", state > 1 ? "5: LinkUp" : "3: Disabled");
	tree_attr(t, "rate", "%u Gb/sec%s", rate, speed);
	tree_attr(t, "lid", "0x0");
	tree_attr(t, "lid_mask_count", "0");
	tree_attr(t, "sm_lid", "0x0");
	tree_attr(t, "sm_sl", "0");
	tree_attr(t, "cap_mask", "0x00010000"); /* IsCommunicationManagementSupported */
	tree_attr(t, "link_layer", "Ethernet");
	tree_attr(t, "has_smi", "0");
	tree_cd(t, "%s/pkeys", port);
	tree_attr(t, "0", "0xffff");
	put_gids(t, dev, port);
	put_counters(t, port);
}

static void put_ibdev(struct tree *t, const struct sysfs_dev *dev, const struct sysfs_names *n)
{
	char path[256], target[128];

	snprintf(path, sizeof(path), "sys/%s/infiniband/%s", n->pci, dev->name);
	tree_cd(t, "%s", path);
	snprintf(target, sizeof(target), "../../../%s", n->bdf);
	tree_link(t, "device", target);
	tree_attr(t, "node_type", "1: CA");
	tree_attr(t, "node_guid", "%s", n->guid);
	tree_attr(t, "sys_image_guid", "%s", n->guid);
	tree_attr(t, "node_desc", "%s", dev->name);
	tree_attr(t, "fw_ver", RDMAEMU_VERSION);
	tree_attr(t, "board_id", IDENT_BOARD);
	tree_attr(t, "hca_type", "rdmaemu");
	tree_attr(t, "hw_rev", "0x%x", IDENT_HW_REV);
	snprintf(path, sizeof(path), "sys/%s/infiniband/%s/ports/1", n->pci, dev->name);
	put_port(t, dev, path);

	tree_cd(t, "sys/class/infiniband");
	snprintf(target, sizeof(target), "../../%s/infiniband/%s", n->pci, dev->name);
	tree_link(t, dev->name, target);
}

static void put_uverbs(struct tree *t, const struct sysfs_dev *dev, const struct sysfs_names *n,
		       int uverbs)
{
	char target[128];

	tree_cd(t, "sys/%s/infiniband_verbs/%s", n->pci, n->uverbs);
	snprintf(target, sizeof(target), "../../../%s", n->bdf);
	tree_link(t, "device", target);
	tree_attr(t, "ibdev", "%s", dev->name);
	tree_attr(t, "abi_version", "1");
	tree_attr(t, "dev", "231:%d", 192 + uverbs); /* the kernel's fixed numbers */

	tree_cd(t, "sys/class/infiniband_verbs");
	snprintf(target, sizeof(target), "../../%s/infiniband_verbs/%s", n->pci, n->uverbs);
	tree_link(t, n->uverbs, target);
	tree_cd(t, "dev/infiniband");
	tree_write(t, n->uverbs, 0666, "", 0);
}

static bool dev_is_sane(const struct sysfs_dev *dev)
{
	size_t len = strnlen(dev->name, sizeof(dev->name));

	return len && len < sizeof(dev->name) && !strchr(dev->name, '/') && dev->name[0] != '.' &&
	       dev->index <= SYSFS_MAX_INDEX;
}

int sysfs_build(const char *root, const struct sysfs_dev *devs, int n)
{
	struct tree t = { .root = -1, .dir = -1 };
	struct sysfs_names names;
	int i;

	for (i = 0; i < n; i++)
		if (!dev_is_sane(&devs[i]))
			return -EINVAL;
	if (mkdir(root, 0700) && errno != EEXIST)
		return -errno;
	t.root = open(root, DIR_FLAGS);
	if (t.root < 0)
		return -errno;

	tree_cd(&t, "sys/class/infiniband");
	tree_cd(&t, "dev/infiniband");
	tree_cd(&t, "sys/class/infiniband_verbs");
	tree_attr(&t, "abi_version", "6");
	for (i = 0; i < n && !t.err; i++) {
		names_init(&names, &devs[i], i);
		put_pci(&t, &devs[i], &names);
		put_ibdev(&t, &devs[i], &names);
		put_uverbs(&t, &devs[i], &names, i);
	}
	if (t.dir >= 0)
		close(t.dir);
	close(t.root);
	return t.err;
}

/* Empties the directory behind @fd, which it closes. As deep as the tree, which is bounded. */
static int remove_below(int fd)
{
	struct dirent *e;
	int err = 0;
	DIR *dir = fdopendir(fd);

	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while ((e = readdir(dir))) {
		int sub, ret = 0;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!unlinkat(dirfd(dir), e->d_name, 0))
			continue;
		sub = openat(dirfd(dir), e->d_name, DIR_FLAGS);
		if (sub < 0)
			ret = -errno;
		else
			ret = remove_below(sub);
		if (unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) && !ret)
			ret = -errno;
		if (!err)
			err = ret;
	}
	closedir(dir);
	return err;
}

int sysfs_remove(const char *root)
{
	int err, fd = open(root, DIR_FLAGS);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = remove_below(fd);
	if (rmdir(root) && !err)
		err = -errno;
	return err;
}
