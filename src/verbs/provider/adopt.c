/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices for copies of libibverbs, see provider.h: which there are, opening and closing, and the
 * plug-ins, which lie beside this library. A copy asks NETLINK_RDMA for the file of each device
 * before it looks for a driver: the plug-ins make the devices known to it then, and nothing has to
 * be configured.
 */
#include "verbs/provider/adopt.h"
#include "node/wait/uverbs.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device of the adapter whose file is @dev_name, held; NULL: there is none. */
static struct vb_ibv_device *find_device(const char *dev_name, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct vb_ibv_device *found = NULL;

	for (int i = 0; list && list[i] && !found; i++)
		if (strcmp(list[i]->dev_name, dev_name) == 0 && strcmp(list[i]->name, name) == 0) {
			found = (struct vb_ibv_device *)list[i];
			atomic_fetch_add(&found->refs, 1);
		}
	ibv_free_device_list(list);
	return found;
}

static bool has_device(const char *dev_name, const char *name)
{
	struct vb_ibv_device *d = find_device(dev_name, name);

	if (d)
		vb_ibv_device_put(d);
	return d;
}

static int adopt_context(struct ibv_context *context, void (*close_copy)(struct ibv_context *))
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);
	struct vb_ibv_device *d = find_device(context->device->dev_name, context->device->name);
	struct vb_ibv_file *file = calloc(1, sizeof *file);
	int err = d ? ENOMEM : ENODEV;

	if (d && file) {
		vb_list_init(&file->contexts);
		c->close_copy = close_copy;
		err = vb_ibv_context_begin(c, d, file);
	}
	if (!err) {
		err = vb_provider_show_async(c);
		if (err) {
			(void)vb_ibv_context_end(c);
			file = NULL;
		}
	}
	if (err)
		free(file);
	if (d)
		vb_ibv_device_put(d);
	return err;
}

static int disown_context(struct ibv_context *context)
{
	struct vb_ibv_context *c = vb_ibv_ctx(context);

	vb_provider_hide_events(c);
	return vb_ibv_context_end(c) ? EIO : 0;
}

const struct vb_provider *verbena_provider(uint32_t number)
{
	static const struct vb_provider provider = {
	    .context_size = sizeof(struct vb_ibv_context),
	    .context_at = offsetof(struct vb_ibv_context, vctx.context),
	    .has_device = has_device,
	    .adopt = adopt_context,
	    .disown = disown_context,
	    .ops = vb_provider_ops,
	};

	return number == VB_PROVIDER_NUMBER ? &provider : NULL;
}

/* Loads the plug-in for private interface @abi, or has it look for copies again. */
static void offer_plugin(const char *folder, const char *abi)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof path, "%s/libverbena.d/libverbena-rdmav%s.so", folder,
			     abi) >= sizeof path)
		return;

	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!plugin)
		return;

	void (*scan)(void);

	*(void **)&scan = dlsym(plugin, VB_PROVIDER_SCAN);
	if (scan)
		scan();
}

static void offer_devices(void)
{
	static const char *const abis[] = {VERBENA_RDMAV_ABIS};
	char folder[PATH_MAX];
	Dl_info self;
	char *slash;

	if (!dladdr(&vb_provider_ops, &self) || !self.dli_fname ||
	    (size_t)snprintf(folder, sizeof folder, "%s", self.dli_fname) >= sizeof folder)
		return;
	slash = strrchr(folder, '/');
	if (!slash)
		return;
	*slash = 0;
	for (size_t i = 0; i < sizeof abis / sizeof abis[0]; i++)
		offer_plugin(folder, abis[i]);
}

__attribute__((constructor)) static void stand_ready(void)
{
	static const struct vb_uverbs_calls calls = {
	    .offer = offer_devices,
	    .command = vb_provider_command,
	    .read_event = vb_provider_read_event,
	    .close_event = vb_provider_close_event,
	};

	atomic_store(&vb_uverbs_calls, &calls);
}
