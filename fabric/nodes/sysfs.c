/* SPDX-License-Identifier: MIT */
/**
 * DOC: see sysfs.h.
 *
 * The tree mirrors what the kernel shows of a RoCE device, as far as programs read it (UCX, NCCL,
 * libfabric, ibstat, ...), with a made-up PCI function for each device:
 *
 *	sys/devices/pci0fab:BB/0fab:BB:DD.0/		vendor, device, numa_node, local_cpus, ...
 *		infiniband/NAME/			node_guid, fw_ver, ports/1/..., device ->
 *		infiniband_verbs/uverbsN/		ibdev, dev, device ->
 *		net/NDEV -> /sys/class/net/NDEV
 *		ptp/ptpN/				if the device has a PTP hardware clock
 *	sys/class/infiniband/NAME ->			relative, so that the kernel resolves them
 *	sys/class/infiniband_verbs/uverbsN ->		within the tree
 *	sys/class/ptp/ptpN ->				likewise
 *	dev/infiniband/uverbsN				a plain file, shown as a device by the shim
 *	dev/ptpN					a plain file: the shim shows a clock
 *
 * The shim reads counters from the HCA itself (path_counters.c). For a path that it does not see,
 * such as one relative to a directory of the tree, the files show the counters as they were when a
 * program was last started.
 *
 * The tree is made relative to a descriptor of its root and without following symlinks, so that no
 * file outside is touched whatever the directory contained.
 *
 * The kernel fails the read of an unused GID's attributes with EINVAL. Their files are empty; the
 * shim (path_open.c) fails reads of empty ones.
 */
#include "fabric/nodes/sysfs.h"

#include "emulator/verbs/port_counter_files.h"
#include "fabric/common/tree.h"
#include "fabric/proto/env.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT_DIR "sys/%s/infiniband/%s/ports/%u"

/* Names and paths of one device within the tree. */
struct sysfs_names {
	char bdf[32]; /* 0fab:00:01.0 */
	char pci[64]; /* devices/pci0fab:00/0fab:00:01.0 */
	char uverbs[20];
	char guid[24];
};

static void sysfs_names_init(struct sysfs_names *n, const struct hca_dev *dev, u32 uverbs)
{
	u32 at = dev->number + 1, bus = at >> 5, slot = at & 31;

	snprintf(n->bdf, sizeof(n->bdf), "0fab:%02x:%02x.0", bus, slot);
	snprintf(n->pci, sizeof(n->pci), "devices/pci0fab:%02x/%s", bus, n->bdf);
	snprintf(n->uverbs, sizeof(n->uverbs), "uverbs%u", uverbs);
	snprintf(n->guid, sizeof(n->guid), "%04x:%04x:%04x:%04x", (u32)(dev->guid >> 48) & 0xffff,
		 (u32)(dev->guid >> 32) & 0xffff, (u32)(dev->guid >> 16) & 0xffff,
		 (u32)dev->guid & 0xffff);
}

/* The host's CPUs, as the kernel prints masks and lists. */
static void sysfs_put_cpus(struct tree *t)
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

/* The network interfaces of the port: those of its GIDs, or IPoIB's. */
static void sysfs_put_ndevs(struct tree *t, const struct hca_dev *dev, u32 port,
			    const struct sysfs_names *n)
{
	const struct hca_port *p = &dev->port[port];
	const struct hca_gid *gids = dev->link_layer == LINK_INFINIBAND ? p->ip : p->gid;
	char target[64];
	u32 i;

	for (i = 0; i < HCA_GIDS; i++) {
		const struct hca_gid *gid = &gids[i];

		if (!gid->valid || !gid->ndev[0] || strchr(gid->ndev, '/'))
			continue;
		snprintf(target, sizeof(target), "/sys/class/net/%.15s", gid->ndev);
		tree_cd(t, "sys/%s/net", n->pci);
		tree_link(t, gid->ndev, target);
	}
}

/* The PCI function: where the device is in the machine. */
static void sysfs_put_pci(struct tree *t, const struct hca_dev *dev, const struct sysfs_names *n)
{
	u32 i;

	tree_cd(t, "sys/%s", n->pci);
	tree_attr(t, "vendor", "0x%04x", dev->pci_vendor);
	tree_attr(t, "device", "0x%04x", dev->lim.part_id & 0xffff);
	tree_attr(t, "subsystem_vendor", "0x%04x", dev->pci_vendor);
	tree_attr(t, "subsystem_device", "0x%04x", dev->lim.part_id & 0xffff);
	tree_attr(t, "class", "0x020700"); /* network controller, InfiniBand */
	tree_attr(t, "revision", "0x%02x", dev->lim.hw_ver & 0xff);
	tree_attr(t, "numa_node", "-1");
	tree_attr(t, "current_link_speed", "16.0 GT/s PCIe");
	tree_attr(t, "max_link_speed", "16.0 GT/s PCIe");
	tree_attr(t, "current_link_width", "16");
	tree_attr(t, "max_link_width", "16");
	sysfs_put_cpus(t);
	for (i = 1; i <= dev->n_ports; i++)
		sysfs_put_ndevs(t, dev, i, n);
	if (!lim_is_efa(&dev->lim))
		return;
	/* libfabric reads the driver's name, and does without the device if there is none. */
	tree_cd(t, "sys/bus/pci/drivers/efa");
	tree_cd(t, "sys/%s", n->pci);
	tree_link(t, "driver", "../../../bus/pci/drivers/efa");
}

/* A file per GID entry. The kernel shows an unused GID as zeros, and none of its attributes. */
static void sysfs_put_gids(struct tree *t, const struct hca_port *p, const char *port)
{
	static const char *const types[] = { "IB/RoCE v1", "IB/RoCE v1", "RoCE v2" };
	char name[8];
	u32 i, b;

	tree_cd(t, "%s/gids", port);
	for (i = 0; i < HCA_GIDS; i++) {
		const struct hca_gid *gid = &p->gid[i];
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
	for (i = 0; i < HCA_GIDS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (p->gid[i].valid && p->gid[i].type < ARRAY_SIZE(types))
			tree_attr(t, name, "%s", types[p->gid[i].type]);
		else
			tree_write(t, name, 0444, "", 0);
	}
	tree_cd(t, "%s/gid_attrs/ndevs", port);
	for (i = 0; i < HCA_GIDS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (p->gid[i].valid && p->gid[i].ndev[0])
			tree_attr(t, name, "%.15s", p->gid[i].ndev);
		else
			tree_write(t, name, 0444, "", 0);
	}
}

static void sysfs_put_counter_dir(struct tree *t, enum port_dir dir, const struct hca_dev *dev,
				  u32 port)
{
	const char *name;
	u64 value;
	u32 i;

	for (i = 0; (name = port_file_name(dir, i)); i++)
		if (port_file_value(dev, port, dir, name, &value))
			tree_attr(t, name, "%llu", (unsigned long long)value);
}

static void sysfs_put_counters(struct tree *t, const struct hca_dev *dev, u32 port, const char *dir)
{
	tree_cd(t, "%s/counters", dir);
	sysfs_put_counter_dir(t, DIR_COUNTERS, dev, port);
	tree_cd(t, "%s/hw_counters", dir);
	sysfs_put_counter_dir(t, DIR_HW_COUNTERS, dev, port);
}

/* In the kernel's words, from active_speed and active_width. */
static void sysfs_put_rate(struct tree *t, const struct hca_dev *dev)
{
	static const struct {
		const char *name;
		u32 tenths; /* of a Gb/s, a lane */
	} speeds[] = { { "SDR", 25 },  { "DDR", 50 },  { "QDR", 100 }, { "FDR10", 100 },
		       { "FDR", 140 }, { "EDR", 250 }, { "HDR", 500 }, { "NDR", 1000 } };
	u32 i = dev->speed ? (u32)__builtin_ctz(dev->speed) : 0;
	u32 lanes = dev->width == WIDTH_12X  ? 12
		    : dev->width == WIDTH_8X ? 8
		    : dev->width == WIDTH_4X ? 4
		    : dev->width == WIDTH_2X ? 2
					     : 1;
	u32 tenths;

	i = i < ARRAY_SIZE(speeds) ? i : 0;
	tenths = speeds[i].tenths * lanes;
	tree_attr(t, "rate", "%u%s Gb/sec (%uX %s)", tenths / 10, tenths % 10 ? ".5" : "", lanes,
		  speeds[i].name);
}

static void sysfs_put_port(struct tree *t, const struct hca_dev *dev, u32 number, const char *dir)
{
	/* enum ibv_port_state */
	static const char *const states[] = { "NOP",   "DOWN",	 "INIT",
					      "ARMED", "ACTIVE", "ACTIVE_DEFER" };
	const struct hca_port *p = &dev->port[number];
	u32 state = p->state < ARRAY_SIZE(states) ? p->state : 0;
	bool ib = dev->link_layer == LINK_INFINIBAND;
	char name[8];
	u32 i;

	tree_cd(t, "%s", dir);
	tree_attr(t, "state", "%u: %s", state, states[state]);
	tree_attr(t, "phys_state", state > 1 ? "5: LinkUp" : "3: Disabled");
	sysfs_put_rate(t, dev);
	tree_attr(t, "lid", "0x%x", p->lid);
	tree_attr(t, "lid_mask_count", "0");
	tree_attr(t, "sm_lid", "0x%x", p->sm_lid);
	tree_attr(t, "sm_sl", "0");
	/* ibv_port_attr.port_cap_flags: CM, and on Ethernet IP based GIDs */
	tree_attr(t, "cap_mask", ib ? "0x00010000" : "0x04010000");
	tree_attr(t, "link_layer",
		  lim_is_efa(&dev->lim) ? "Unspecified"
		  : ib			? "InfiniBand"
					: "Ethernet");
	tree_attr(t, "has_smi", "0");
	tree_cd(t, "%s/pkeys", dir);
	for (i = 0; i < dev->lim.pkeys && i < LIM_PKEYS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		tree_attr(t, name, "0x%04x", p->pkey[i]);
	}
	sysfs_put_gids(t, p, dir);
	sysfs_put_counters(t, dev, number, dir);
}

static void sysfs_put_ibdev(struct tree *t, const struct hca_dev *dev, const struct sysfs_names *n)
{
	char path[256], target[128];
	u32 i;

	snprintf(path, sizeof(path), "sys/%s/infiniband/%s", n->pci, dev->name);
	tree_cd(t, "%s", path);
	snprintf(target, sizeof(target), "../../../%s", n->bdf);
	tree_link(t, "device", target);
	tree_attr(t, "node_type", lim_is_efa(&dev->lim) ? "7: unspecified" : "1: CA");
	tree_attr(t, "node_guid", "%s", n->guid);
	tree_attr(t, "sys_image_guid", "%s", n->guid);
	tree_attr(t, "node_desc", "%s", dev->name);
	tree_attr(t, "fw_ver", "%.31s", dev->fw);
	tree_attr(t, "board_id", "%.31s", dev->board);
	tree_attr(t, "hca_type", "rdmaemu");
	tree_attr(t, "hw_rev", "0x%x", dev->lim.hw_ver);
	for (i = 1; i <= dev->n_ports; i++) {
		snprintf(path, sizeof(path), PORT_DIR, n->pci, dev->name, i);
		sysfs_put_port(t, dev, i, path);
	}

	tree_cd(t, "sys/class/infiniband");
	snprintf(target, sizeof(target), "../../%s/infiniband/%s", n->pci, dev->name);
	tree_link(t, dev->name, target);
}

static void sysfs_put_uverbs(struct tree *t, const struct hca_dev *dev, const struct sysfs_names *n,
			     u32 uverbs)
{
	char target[128];

	tree_cd(t, "sys/%s/infiniband_verbs/%s", n->pci, n->uverbs);
	snprintf(target, sizeof(target), "../../../%s", n->bdf);
	tree_link(t, "device", target);
	tree_attr(t, "ibdev", "%s", dev->name);
	tree_attr(t, "abi_version", "1");
	tree_attr(t, "dev", "231:%u", 192 + uverbs); /* the kernel's fixed numbers */

	tree_cd(t, "sys/class/infiniband_verbs");
	snprintf(target, sizeof(target), "../../%s/infiniband_verbs/%s", n->pci, n->uverbs);
	tree_link(t, n->uverbs, target);
	tree_cd(t, "dev/infiniband");
	tree_write(t, n->uverbs, 0666, "", 0);
}

/* The PTP hardware clock, as the kernel shows one that has no pins and cannot be adjusted. */
static void sysfs_put_ptp(struct tree *t, const struct hca_dev *dev, const struct sysfs_names *n)
{
	static const char *const none[] = { "max_adjustment",	     "n_alarms",
					    "n_external_timestamps", "n_periodic_outputs",
					    "n_programmable_pins",   "pps_available" };
	char name[32], target[128];
	u32 i;

	if (!dev->lim.ptp_clock)
		return;
	snprintf(name, sizeof(name), PROTO_PTP_NAME "%04u", dev->number);
	tree_cd(t, "sys/%s/ptp/%s", n->pci, name);
	snprintf(target, sizeof(target), "../../../%s", n->bdf);
	tree_link(t, "device", target);
	tree_attr(t, "clock_name", "rdmaemu");
	for (i = 0; i < ARRAY_SIZE(none); i++)
		tree_attr(t, none[i], "0");

	tree_cd(t, "sys/class/ptp");
	snprintf(target, sizeof(target), "../../%s/ptp/%s", n->pci, name);
	tree_link(t, name, target);
	tree_cd(t, "dev");
	tree_write(t, name, 0444, "", 0);
}

static bool sysfs_dev_is_sane(const struct hca_dev *dev)
{
	size_t len = strnlen(dev->name, sizeof(dev->name));

	return len && len < sizeof(dev->name) && !strchr(dev->name, '/') && dev->name[0] != '.' &&
	       dev->number <= SYSFS_MAX_INDEX && dev->n_ports <= HCA_MAX_PORTS;
}

int sysfs_build(const char *root, const struct hca_dev *devs, u32 n)
{
	struct tree t;
	struct sysfs_names names;
	u32 i;

	for (i = 0; i < n; i++)
		if (!sysfs_dev_is_sane(&devs[i]))
			return -EINVAL;
	if (mkdir(root, 0700) && errno != EEXIST)
		return -errno;
	if (tree_open(&t, root))
		return t.err;

	tree_cd(&t, "sys/class/infiniband");
	tree_cd(&t, "dev/infiniband");
	tree_cd(&t, "sys/class/infiniband_verbs");
	tree_attr(&t, "abi_version", "6");
	/* libibumad checks this first; ibstat then reads the rest from the devices. */
	tree_cd(&t, "sys/class/infiniband_mad");
	tree_attr(&t, "abi_version", "5");
	for (i = 0; i < n && !t.err; i++) {
		sysfs_names_init(&names, &devs[i], i);
		sysfs_put_pci(&t, &devs[i], &names);
		sysfs_put_ibdev(&t, &devs[i], &names);
		sysfs_put_uverbs(&t, &devs[i], &names, i);
		sysfs_put_ptp(&t, &devs[i], &names);
	}
	return tree_close(&t);
}

int sysfs_counters(const char *root, const struct hca_dev *devs, u32 n)
{
	struct tree t;
	struct sysfs_names names;
	char dir[256];
	u32 i, p;

	if (tree_open(&t, root))
		return t.err;
	for (i = 0; i < n; i++) {
		sysfs_names_init(&names, &devs[i], i);
		for (p = 1; p <= devs[i].n_ports; p++) {
			snprintf(dir, sizeof(dir), PORT_DIR, names.pci, devs[i].name, p);
			sysfs_put_counters(&t, &devs[i], p, dir);
		}
	}
	return tree_close(&t);
}

int sysfs_remove(const char *root)
{
	return tree_remove(root);
}
