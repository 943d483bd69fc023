/* SPDX-License-Identifier: MIT */
/*
 * Makes and removes private sysfs trees with the fabric's own code.
 *
 *	sys_shim_tree build ROOT	two devices, emu0 and emu1, the second without a port up
 *	sys_shim_tree remove ROOT
 *	sys_shim_tree errors ROOT	try invalid trees; ROOT's parent must exist
 */
/* One file of the fabric, without the rest of it, and what it needs. */
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "emulator/verbs/port_counter_files.c"
#include "fabric/nodes/sysfs.c"
#include "fabric/common/tree.c"
/* NOLINTEND(bugprone-suspicious-include) */

static void describe(struct hca_dev *dev, u32 i)
{
	struct hca_port *p = &dev->port[1];

	memset(dev, 0, sizeof(*dev));
	snprintf(dev->name, sizeof(dev->name), "emu%u", i);
	dev->number = 39 + i; /* the second bus */
	dev->guid = 0x0211223344556600ull + i;
	dev->n_ports = 1;
	dev->lim.pkeys = 1;
	dev->lim.ptp_clock = !i;
	dev->link_layer = LINK_ETHERNET;
	p->state = i ? PORT_DOWN : PORT_ACTIVE;
	p->max_mtu = 5;
	p->active_mtu = 3;
	p->gid[1].valid = 1;
	p->gid[1].type = 2;
	memcpy(p->gid[1].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\7", 16);
	snprintf(p->gid[1].ndev, sizeof(p->gid[1].ndev), "lo");
}

static int expect(const char *what, int got, int wanted)
{
	if (got == wanted)
		return 0;
	printf("%s: %d instead of %d\n", what, got, wanted);
	return 1;
}

static int errors(const char *root)
{
	struct hca_dev dev;
	char path[PATH_MAX];
	int bad = 0;

	describe(&dev, 0);
	strcpy(dev.name, "../../up");
	bad |= expect("name with a slash", sysfs_build(root, &dev, 1), -EINVAL);
	strcpy(dev.name, "..");
	bad |= expect("name ..", sysfs_build(root, &dev, 1), -EINVAL);
	strcpy(dev.name, "");
	bad |= expect("no name", sysfs_build(root, &dev, 1), -EINVAL);
	memset(dev.name, 'x', sizeof(dev.name));
	bad |= expect("unterminated name", sysfs_build(root, &dev, 1), -EINVAL);
	describe(&dev, 0);
	dev.number = SYSFS_MAX_INDEX + 1;
	bad |= expect("index", sysfs_build(root, &dev, 1), -EINVAL);

	describe(&dev, 0);
	snprintf(path, sizeof(path), "%s/none/root", root);
	bad |= expect("no parent", sysfs_build(path, &dev, 1), -ENOENT);
	/* A link in the tree leads nowhere: neither written through nor removed through. */
	bad |= expect("mkdir", mkdir(root, 0700), 0);
	snprintf(path, sizeof(path), "%s/sys", root);
	bad |= expect("symlink", symlink("/tmp", path), 0);
	bad |= expect("symlink in the tree", sysfs_build(root, &dev, 1), -ENOTDIR);
	bad |= expect("remove", sysfs_remove(root), 0);
	bad |= expect("/tmp is still there", access("/tmp", F_OK), 0);
	bad |= expect("remove again", sysfs_remove(root), 0);
	return bad;
}

int main(int argc, char **argv)
{
	struct hca_dev devs[2];
	int ret;

	if (argc != 3)
		return 2;
	describe(&devs[0], 0);
	describe(&devs[1], 1);
	if (!strcmp(argv[1], "errors"))
		return errors(argv[2]);
	ret = strcmp(argv[1], "build") ? sysfs_remove(argv[2]) : sysfs_build(argv[2], devs, 2);
	if (ret)
		printf("%s: %s\n", argv[1], strerror(-ret));
	return !!ret;
}
