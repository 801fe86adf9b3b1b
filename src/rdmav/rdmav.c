/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libverbena-rdmavNN.so: the adapter's devices as a provider, for copies of libibverbs whose calls
 * do not come to libverbena.so, see verbs/provider/provider.h. libverbena.so is preloaded, or
 * nothing happens here.
 *
 * A copy does not say who it is when it loads a provider, and two copies that load the same file
 * get it once. So each library of the process that has the private interface is told of a table of
 * its own, in which the functions of that copy are: a device leads to its table.
 */
#include "rdmav/abi.h"
#include "verbs/provider/provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies in one process, and libraries that are looked at. */
#define COPIES_MAX 32
#define LIBRARIES_MAX 1024
/* enum rdma_driver_id of <rdma/rdma_user_ioctl_cmds.h>: RDMA_DRIVER_UNKNOWN */
#define DRIVER_ID 0

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

struct copy {
	struct rdmav_device_ops ops;
	rdmav_register_driver *register_driver;
	rdmav_init_context *init_context;
	rdmav_set_ops *set_ops;
	rdmav_uninit_context *uninit_context;
};

/* By the dynamic linker's lock, under which a library is loaded, no two threads are here at once;
 * but another one may scan. */
static struct {
	pthread_mutex_t mutex;
	struct copy copy[COPIES_MAX];
	int copy_cnt;
	const struct vb_provider *provider;
	struct rdmav_context_ops calls;
} plugin = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct copy *copy_of(const struct ibv_device *device)
{
	const struct rdmav_device *d = (const struct rdmav_device *)(const void *)device;

	return (const struct copy *)(const void *)d->ops;
}

static bool match_device(struct rdmav_sysfs_dev *sysfs)
{
	return plugin.provider->has_device(sysfs->sysfs_name, sysfs->ibdev_name);
}

static struct rdmav_device *alloc_device(struct rdmav_sysfs_dev *sysfs)
{
	struct rdmav_device *d = calloc(1, sizeof *d);

	(void)sysfs;
	if (d)
		d->core_support = RDMAV_OPTIONAL_MR_ACCESS;
	return d;
}

static void free_device(struct rdmav_device *d)
{
	free(d);
}

/*
 * A context in memory, from its begin:
 *
 *   the copy's struct verbs_context        ibv_context
 *   |-------------- RDMAV_CONTEXT_AT --------->|
 *        libverbena.so's context               |
 *        |----------- context_at ------------->|
 *
 * Either may begin first, by the headers that libverbena.so was built with.
 */
static size_t place_of_library(void)
{
	size_t at = plugin.provider->context_at;

	return RDMAV_CONTEXT_AT > at ? RDMAV_CONTEXT_AT - at : 0;
}

static size_t place_of_context(void)
{
	return place_of_library() + plugin.provider->context_at;
}

/* The operations have reached their places in the part of the context that is public: the copy has
 * its table in the order that this plug-in knows. */
static bool ops_arrived(const struct ibv_context *context)
{
	const struct ibv_context_ops *o = &context->ops;
	const struct rdmav_context_ops *c = &plugin.calls;

	return (void (*)(void))o->alloc_mw == c->alloc_mw &&
	       (void (*)(void))o->bind_mw == c->bind_mw &&
	       (void (*)(void))o->dealloc_mw == c->dealloc_mw &&
	       (void (*)(void))o->poll_cq == c->poll_cq &&
	       (void (*)(void))o->post_recv == c->post_recv &&
	       (void (*)(void))o->post_send == c->post_send &&
	       (void (*)(void))o->post_srq_recv == c->post_srq_recv &&
	       (void (*)(void))o->req_notify_cq == c->req_notify_cq;
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd,
					   void *private_data)
{
	const struct copy *copy = copy_of(device);
	size_t at = place_of_context() - RDMAV_CONTEXT_AT;
	char *memory =
	    copy->init_context(device, cmd_fd, place_of_library() + plugin.provider->context_size,
			       (struct verbs_context *)at, DRIVER_ID);
	int err = EPROTONOSUPPORT;

	(void)private_data;
	if (!memory)
		return NULL;

	struct verbs_context *v = (struct verbs_context *)(void *)(memory + at);
	struct ibv_context *context = (struct ibv_context *)(void *)(memory + place_of_context());

	copy->set_ops(v, &plugin.calls);
	if (ops_arrived(context))
		err = plugin.provider->adopt(
		    context, (void (*)(struct ibv_context *))(plugin.calls.free_context));
	else
		fprintf(stderr, "verbena: a copy of libibverbs has another private interface than "
				"its name says, " TEXT(VB_RDMAV) ": it cannot open devices\n");
	if (!err)
		return v;
	context->async_fd = -1;
	copy->uninit_context(v);
	free(memory);
	errno = err;
	return NULL;
}

static void free_context(struct ibv_context *context)
{
	const struct copy *copy = copy_of(context->device);
	char *memory = (char *)context - place_of_context();

	/* Of the process that this one was forked from: it stays as it is. */
	if (plugin.provider->disown(context))
		return;
	copy->uninit_context(
	    (struct verbs_context *)(void *)(memory + place_of_context() - RDMAV_CONTEXT_AT));
	free(memory);
}

static void *find_in(void *library, const char *name, const void *base)
{
	void *p = dlsym(library, name);
	Dl_info info;

	return p && dladdr(p, &info) && (!base || info.dli_fbase == base) ? p : NULL;
}

/* Makes the devices known to the copy in @library or in a library that it needs, once. */
static void offer_library(void *library)
{
	void *reg = find_in(library, "verbs_register_driver_" TEXT(VB_RDMAV), NULL);
	struct copy *c = &plugin.copy[plugin.copy_cnt];
	rdmav_register_driver *register_driver;
	Dl_info info;

	if (!reg || !dladdr(reg, &info) || plugin.copy_cnt == COPIES_MAX)
		return;
	memcpy(&register_driver, &reg, sizeof reg);
	for (int i = 0; i < plugin.copy_cnt; i++)
		if (plugin.copy[i].register_driver == register_driver)
			return;
	*c = (struct copy){
	    .ops = {.name = "verbena",
		    .match_max_abi_version = UINT32_MAX,
		    .match_device = match_device,
		    .alloc_context = alloc_context,
		    .alloc_device = alloc_device,
		    .uninit_device = free_device},
	    .register_driver = register_driver,
	};
	/* All of one copy. */
	*(void **)&c->init_context =
	    find_in(library, "_verbs_init_and_alloc_context", info.dli_fbase);
	*(void **)&c->set_ops = find_in(library, "verbs_set_ops", info.dli_fbase);
	*(void **)&c->uninit_context = find_in(library, "verbs_uninit_context", info.dli_fbase);
	if (!c->init_context || !c->set_ops || !c->uninit_context)
		return;
	plugin.copy_cnt++;
	c->register_driver(&c->ops);
}

struct libraries {
	int cnt;
	char *name[LIBRARIES_MAX];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *to)
{
	struct libraries *l = to;

	(void)size;
	/* The program itself has no name. */
	if (l->cnt < LIBRARIES_MAX && info->dlpi_name && info->dlpi_name[0])
		l->name[l->cnt++] = strdup(info->dlpi_name);
	return 0;
}

void verbena_rdmav_scan(void);

void verbena_rdmav_scan(void)
{
	struct libraries *l = calloc(1, sizeof *l);
	void *program = dlopen(NULL, RTLD_LAZY);

	if (l)
		dl_iterate_phdr(note_library, l);
	pthread_mutex_lock(&plugin.mutex);
	if (plugin.provider && program)
		offer_library(program);
	for (int i = 0; plugin.provider && l && i < l->cnt; i++) {
		void *library = l->name[i] ? dlopen(l->name[i], RTLD_LAZY | RTLD_NOLOAD) : NULL;

		if (!library)
			continue;
		offer_library(library);
		dlclose(library);
	}
	pthread_mutex_unlock(&plugin.mutex);
	for (int i = 0; l && i < l->cnt; i++)
		free(l->name[i]);
	free(l);
	if (program)
		dlclose(program);
}

static void (*find_call(const struct vb_provider_op *ops, const char *name))(void)
{
	for (; ops->name; ops++)
		if (strcmp(ops->name, name) == 0)
			return ops->call;
	return NULL; /* the copy answers by EOPNOTSUPP */
}

__attribute__((constructor)) static void begin_plugin(void)
{
	const struct vb_provider *(*provider)(uint32_t);

	*(void **)&provider = dlsym(RTLD_DEFAULT, "verbena_provider");
	if (!provider)
		return;
	plugin.provider = provider(VB_PROVIDER_NUMBER);
	if (!plugin.provider)
		return;
#define OP(name) plugin.calls.name = find_call(plugin.provider->ops, #name);
#include "rdmav/ops.def"
#undef OP
	plugin.calls.free_context = (void (*)(void))free_context;
	verbena_rdmav_scan();
}
