/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI functions and device files, see pci.h. A program that wants to know where a device is
 * takes the folder that class/infiniband/DEVICE/../.. is in, and reads numa_node and local_cpulist
 * there: they are those of the network device, or, where that has none, those of the whole machine.
 */
#include "node/sysfs/pci.h"

#include "node/sysfs/device_node.h"
#include "node/sysfs/dir.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 256
#define LINE_BYTES 200
#define MAD_ABI 5
#define CPUS_ONLINE "/sys/devices/system/cpu/online"

/* The PCI address of device @index: each on a bus of its own, so that 255 have room. */
static void pci_name(char *name, size_t size, uint32_t index)
{
	snprintf(name, size, VB_PCI_DOMAIN ":%02x:00.0", (index + 1) & 0xff);
}

void vb_sysfs_pci_path(char *path, size_t size, uint32_t index)
{
	char name[16];

	pci_name(name, sizeof name, index);
	snprintf(path, size, "devices/pci" VB_PCI_DOMAIN ":%02x/%s", (index + 1) & 0xff, name);
}

/* The first line of a file of the host's; "" when there is none. */
static void read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	line[n < 0 ? 0 : n] = 0;
	line[strcspn(line, "\n")] = 0;
}

/* The place of the network device as the host says it, or @otherwise. */
static void put_place(int pci, const char *ifname, const char *file, const char *otherwise)
{
	char path[PATH_BYTES], line[LINE_BYTES];

	snprintf(path, sizeof path, "/sys/class/net/%s/device/%s", ifname, file);
	read_line(path, line, sizeof line);
	vb_file_put(pci, file, "%s\n", line[0] ? line : otherwise);
}

/* A list of CPUs as bits, 32 to a word, the highest first: "0-2" is 7. */
static void cpu_mask(const char *list, char *mask, size_t size)
{
	uint32_t word[32] = {0};
	int words = 1, n = 0, len = 0;
	unsigned first, last;

	for (const char *p = list; sscanf(p, "%u%n", &first, &n) == 1; p += *p == ',') {
		p += n;
		last = first;
		if (*p == '-' && sscanf(p + 1, "%u%n", &last, &n) == 1)
			p += 1 + n;
		for (unsigned cpu = first; cpu <= last && cpu < 32 * 32; cpu++) {
			word[cpu / 32] |= UINT32_C(1) << cpu % 32;
			words = (int)cpu / 32 + 1 > words ? (int)cpu / 32 + 1 : words;
		}
	}
	mask[0] = 0;
	for (int i = words - 1; i >= 0 && len >= 0 && (size_t)len < size; i--)
		len += snprintf(mask + len, size - (size_t)len,
				i == words - 1 ? "%" PRIx32 : ",%08" PRIx32, word[i]);
}

static void put_function(int pci, const struct vb_device *d, const char *name)
{
	char cpus[LINE_BYTES], mask[LINE_BYTES];

	read_line(CPUS_ONLINE, cpus, sizeof cpus);
	cpu_mask(cpus, mask, sizeof mask);
	vb_file_put(pci, "vendor", "0x0000\n");
	vb_file_put(pci, "device", "0x0000\n");
	vb_file_put(pci, "subsystem_vendor", "0x0000\n");
	vb_file_put(pci, "subsystem_device", "0x0000\n");
	vb_file_put(pci, "class", "0x020700\n"); /* network controller, InfiniBand */
	vb_file_put(pci, "revision", "0x00\n");
	vb_file_put(pci, "uevent", "DRIVER=verbena\nPCI_CLASS=20700\nPCI_SLOT_NAME=%s\n", name);
	(void)symlinkat("../../../bus/pci", pci, "subsystem");
	put_place(pci, d->ifname, "numa_node", "-1");
	put_place(pci, d->ifname, "local_cpulist", cpus);
	put_place(pci, d->ifname, "local_cpus", mask);
}

static void put_netdev(int pci, const struct vb_device *d)
{
	int net = vb_dir_make(pci, "net"), ndev = vb_dir_make(net, d->ifname);

	vb_file_put(ndev, "ifindex", "%" PRIu32 "\n", d->ifindex);
	vb_file_put(ndev, "mtu", "%" PRIu32 "\n", d->netdev_mtu);
	vb_file_put(ndev, "dev_id", "0x0\n");
	vb_file_put(ndev, "dev_port", "0\n");
	vb_file_put(ndev, "operstate", "%s\n", d->is_up ? "up" : "down");
	vb_file_put(ndev, "address", "%02x:%02x:%02x:%02x:%02x:%02x\n", d->mac[0], d->mac[1],
		    d->mac[2], d->mac[3], d->mac[4], d->mac[5]);
	close(ndev);
	close(net);
}

void vb_sysfs_put_node(int class, const char *name, unsigned major, unsigned minor)
{
	int dev = vb_dir_make(class, "dev"), ib = vb_dir_make(dev, "infiniband");
	int fd = ib < 0 ? -1 : vb_file_open(ib, name, O_WRONLY | O_CREAT);

	if (fd >= 0 &&
	    (ftruncate(fd, (off_t)makedev(major, minor)) || fchmod(fd, VB_NODE_FILE_MODE)))
		(void)unlinkat(ib, name, 0);
	close(fd);
	close(ib);
	close(dev);
}

void vb_sysfs_put_mad(int class, const char *name, const char *ibdev, unsigned port, unsigned minor)
{
	int mads = vb_dir_make(class, "infiniband_mad"), dir = vb_dir_make(mads, name);

	vb_file_put(dir, "ibdev", "%s\n", ibdev);
	vb_file_put(dir, "port", "%u\n", port);
	vb_file_put(dir, "dev", "%u:%u\n", VB_UMAD_MAJOR, minor);
	close(dir);
	close(mads);
	vb_sysfs_put_node(class, name, VB_UMAD_MAJOR, minor);
}

static void put_uverbs(int class, int pci, const struct vb_device *d, uint32_t index)
{
	char name[32], link[PATH_BYTES], path[PATH_BYTES - 64];

	snprintf(name, sizeof name, "uverbs%" PRIu32, index);
	vb_sysfs_pci_path(path, sizeof path, index);
	snprintf(link, sizeof link, "../../%s/infiniband_verbs/%s", path, name);
	int verbs = vb_dir_make(class, "infiniband_verbs");
	int all = vb_dir_make(pci, "infiniband_verbs"), dir = vb_dir_make(all, name);

	vb_file_put(dir, "ibdev", "%s\n", d->name);
	vb_file_put(dir, "abi_version", "1\n");
	vb_file_put(dir, "dev", "%u:%u\n", VB_UVERBS_MAJOR, VB_UVERBS_MINOR + index);
	vb_file_put(dir, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/%s\nDEVMODE=0666\n",
		    VB_UVERBS_MAJOR, VB_UVERBS_MINOR + index, name);
	if (dir >= 0 && verbs >= 0) {
		(void)symlinkat("../..", dir, "device");
		(void)symlinkat("../../../../../class/infiniband_verbs", dir, "subsystem");
		(void)symlinkat(link, verbs, name);
	}
	close(dir);
	close(all);
	close(verbs);
	vb_sysfs_put_node(class, name, VB_UVERBS_MAJOR, VB_UVERBS_MINOR + index);
}

int vb_sysfs_put_pci(int class, const struct vb_device *d, uint32_t index)
{
	char name[16], bus[16];

	pci_name(name, sizeof name, index);
	snprintf(bus, sizeof bus, "pci" VB_PCI_DOMAIN ":%02x", (index + 1) & 0xff);
	int all = vb_dir_make(class, "devices"), root = vb_dir_make(all, bus);
	int pci = vb_dir_make(root, name), ib = vb_dir_make(pci, "infiniband");

	close(all);
	close(root);
	if (ib >= 0) {
		put_function(pci, d, name);
		put_netdev(pci, d);
		put_uverbs(class, pci, d, index);
	}
	close(pci);
	return ib;
}

void vb_sysfs_put_classes(int class)
{
	int verbs = vb_dir_make(class, "infiniband_verbs");
	int mad = vb_dir_make(class, "infiniband_mad");
	int misc = vb_dir_make(class, "misc"), cm = vb_dir_make(misc, "rdma_cm");
	int bus = vb_dir_make(class, "bus");

	/* Where the links "subsystem" lead, with the kernel's text: this folder is /sys and
	 * /sys/class in one. */
	close(vb_dir_make(bus, "pci"));
	close(bus);
	(void)symlinkat(".", class, "class");
	vb_file_put(verbs, "abi_version", "6\n");
	vb_file_put(mad, "abi_version", "%d\n", MAD_ABI);
	vb_file_put(cm, "abi_version", "%d\n", VB_RDMA_CM_ABI);
	vb_file_put(cm, "dev", "%u:%u\n", VB_RDMA_CM_MAJOR, VB_RDMA_CM_MINOR);
	vb_file_put(cm, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/rdma_cm\nDEVMODE=0666\n",
		    VB_RDMA_CM_MAJOR, VB_RDMA_CM_MINOR);
	close(cm);
	close(misc);
	close(mad);
	close(verbs);
	vb_sysfs_put_node(class, "rdma_cm", VB_RDMA_CM_MAJOR, VB_RDMA_CM_MINOR);
}
