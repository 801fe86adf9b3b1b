/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings of congestion control as files, where the tools of other adapters have them: in the
 * tree beside what sysfs.c makes, for each physical function
 *
 *   class/infiniband/DEVICE/cc_params/NAME     as debugfs' cc_params
 *   class/net/NETDEV/ecn/roce_rp|roce_np/NAME  as sysfs' ecn
 *
 * They show what holds; a number that is written there is taken over, or put back if it is refused.
 * A file is replaced by renaming, so a reader sees one value or the other; a file that says what
 * holds already is not, since its writer may be at it again. inotify(7)
 */
#include "node/broker/state.h"
#include "node/netdev/devices.h"
#include "node/sysfs/dir.h"
#include "reg/csr/cc_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define PATH_BYTES 128
#define EVENT_BYTES 4096
#define NOT_SHOWN UINT64_MAX /* no value of any setting */

/* Opens one of the three folders of a device; makes it when @make. */
static int folder_open(const struct vb_broker *b, uint32_t device, enum vb_params_folder folder,
		       bool make)
{
	const struct vb_device *d = &b->slots.host->device[device];
	const char *kind = folder == VB_PARAMS_RP ? "roce_rp" : "roce_np";
	char path[PATH_BYTES];

	if (b->sysfs.root_fd < 0 || !d->ifindex || d->parent)
		return -ENOENT;
	if (folder == VB_PARAMS_DEBUGFS)
		return vb_sysfs_open_device(&b->sysfs, b->slots.host, device, "cc_params", make);
	snprintf(path, sizeof path, "class/net/%s/ecn/%s", d->ifname, kind);
	return vb_dir_walk(b->sysfs.root_fd, path, make);
}

/* The file of @n in @folder, NULL: it has none there. */
static const char *file_in(const struct vb_cc_name *n, enum vb_params_folder folder)
{
	const char *prefix = folder == VB_PARAMS_RP ? "roce_rp/" : "roce_np/";

	if (folder == VB_PARAMS_DEBUGFS)
		return n->debugfs;
	if (!n->sysfs || strncmp(n->sysfs, prefix, strlen(prefix)) != 0)
		return NULL;
	return n->sysfs + strlen(prefix);
}

static const struct vb_cc_name *name_in(const char *file, enum vb_params_folder folder)
{
	for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
		const char *f = file_in(&vb_cc_names[i], folder);

		if (f && strcmp(f, file) == 0)
			return &vb_cc_names[i];
	}
	return NULL;
}

static const struct vb_cc_settings *settings_of(const struct vb_broker *b, uint32_t device)
{
	return &vb_adapter_state(vb_slots_adapter(&b->slots))->pf[device].reg.cc;
}

static void show_file(int folder, const char *file, uint64_t value)
{
	/* Under this name nobody's change is taken for one. */
	vb_file_put(folder, ".new", "%" PRIu64 "\n", value);
	(void)renameat(folder, ".new", folder, file);
}

/* Shows the values that are not shown yet; with @anew, all values. */
static void show_device(struct vb_broker *b, uint32_t device, bool anew)
{
	const struct vb_cc_settings *s = settings_of(b, device);

	for (int k = 0; k < VB_PARAMS_FOLDERS; k++) {
		enum vb_params_folder folder = (enum vb_params_folder)k;
		uint64_t *shown = b->params.shown[device][k];
		int fd = folder_open(b, device, folder, true);

		for (unsigned i = 0; i < vb_cc_name_cnt; i++) {
			const char *file = file_in(&vb_cc_names[i], folder);
			uint64_t value = vb_cc_names[i].get(s);

			if (fd >= 0 && file && (anew || shown[i] != value))
				show_file(fd, file, value);
			shown[i] = value;
		}
		if (fd >= 0)
			close(fd);
	}
}

static void watch_device(struct vb_broker *b, uint32_t device)
{
	char path[PATH_BYTES];

	for (int k = 0; k < VB_PARAMS_FOLDERS; k++) {
		int fd = folder_open(b, device, (enum vb_params_folder)k, false);

		b->params.watch[device][k] = -1;
		if (fd < 0)
			continue;
		/* The folder that was opened, wherever a path would lead. */
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		b->params.watch[device][k] =
		    inotify_add_watch(b->params.fd, path, IN_CLOSE_WRITE | IN_ONLYDIR);
		close(fd);
	}
}

int vb_broker_params_start(struct vb_broker *b)
{
	b->params.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	/* Without it the files only show; the limit of instances is the user's. */
	if (b->params.fd < 0)
		return 0;
	return vb_broker_watch(b, b->params.fd, VB_SOURCE_PARAMS, 0);
}

void vb_broker_params_publish(struct vb_broker *b)
{
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++) {
		show_device(b, i, true);
		if (b->params.fd >= 0)
			watch_device(b, i);
	}
	b->params.generation = vb_slots_adapter(&b->slots)->generation;
}

void vb_broker_params_show(struct vb_broker *b)
{
	uint32_t generation = vb_slots_adapter(&b->slots)->generation;

	if (b->params.generation == generation)
		return;
	b->params.generation = generation;
	for (uint32_t i = 0; i < VB_DEVICES_MAX; i++)
		show_device(b, i, false);
}

/* The number in a file, which somebody has just written; *is_plain: as it would be shown. */
static bool read_number(int folder, const char *file, uint64_t *value, bool *is_plain)
{
	char text[32], plain[32], *end;
	ssize_t n = -1;
	int fd = vb_file_open(folder, file, O_RDONLY);

	if (fd >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	text[n] = 0;
	errno = 0;
	*value = strtoull(text, &end, 0);
	snprintf(plain, sizeof plain, "%" PRIu64 "\n", *value);
	*is_plain = strcmp(text, plain) == 0;
	return !errno && (*end == 0 || *end == '\n');
}

static void take_over(struct vb_broker *b, uint32_t device, enum vb_params_folder folder,
		      const char *file)
{
	static struct vb_adapter_state next;
	struct vb_adapter_shm *a = vb_slots_adapter(&b->slots);
	const struct vb_cc_name *n = name_in(file, folder);
	int fd = n ? folder_open(b, device, folder, false) : -1;
	uint64_t value, *shown;
	const char *rule;
	bool is_plain;

	if (fd < 0)
		return;
	shown = &b->params.shown[device][folder][n - vb_cc_names];
	/* The file has what was written, which need not be what holds. */
	*shown = NOT_SHOWN;
	next = *vb_adapter_state(a);
	if (read_number(fd, file, &value, &is_plain) &&
	    vb_cc_name_set(n, &next.pf[device].reg.cc, value,
			   vb_device_rate_bps(&b->slots.host->device[device]), &rule) == 0) {
		if (is_plain)
			*shown = value;
		next.pf[device].cc_epoch++;
		vb_adapter_commit(a, &next);
		vb_broker_wake_clients(b);
	}
	close(fd);
	show_device(b, device, false);
}

void vb_broker_params_handle(struct vb_broker *b)
{
	_Alignas(struct inotify_event) char buf[EVENT_BYTES];
	ssize_t len = read(b->params.fd, buf, sizeof buf);

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *ev = (const void *)(buf + at);

		at += (ssize_t)(sizeof *ev + ev->len);
		for (uint32_t i = 0; ev->len && i < VB_DEVICES_MAX; i++)
			for (int k = 0; k < VB_PARAMS_FOLDERS; k++)
				if (b->params.watch[i][k] == ev->wd)
					take_over(b, i, (enum vb_params_folder)k, ev->name);
	}
}
