/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is linked to no libibverbs and opens it by name, as NCCL, UCX's modules and
 * language bindings do. However it looks a function up, it must get the adapter's where the
 * adapter has one and rdma-core's where not. Takes the names of all entry points of libverbena.so
 * as arguments, NAME@VERSION. Says "ok", or what was wrong.
 */
#include "verbs_need.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr

/* The functions that do the work, by their types. */
static struct {
	__typeof__(ibv_get_device_list) *get_device_list;
	__typeof__(ibv_free_device_list) *free_device_list;
	__typeof__(ibv_get_device_name) *get_device_name;
	__typeof__(ibv_open_device) *open_device;
	__typeof__(ibv_close_device) *close_device;
	__typeof__(ibv_alloc_pd) *alloc_pd;
	__typeof__(ibv_dealloc_pd) *dealloc_pd;
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	__typeof__(ibv_dereg_mr) *dereg_mr;
	__typeof__(ibv_create_cq) *create_cq;
	__typeof__(ibv_destroy_cq) *destroy_cq;
	__typeof__(ibv_wc_status_str) *wc_status_str;
} verbs;

/* An object pointer becomes a function pointer, which ISO C leaves to POSIX. */
static void look_up(void *lib, const char *name, const char *version, void *to)
{
	void *p = version ? dlvsym(lib, name, version) : dlsym(lib, name);

	if (!p) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(1);
	}
	memcpy(to, &p, sizeof p);
}

static void look_up_all(void *lib, const char *version)
{
	look_up(lib, "ibv_get_device_list", version, &verbs.get_device_list);
	look_up(lib, "ibv_free_device_list", version, &verbs.free_device_list);
	look_up(lib, "ibv_get_device_name", version, &verbs.get_device_name);
	look_up(lib, "ibv_open_device", version, &verbs.open_device);
	look_up(lib, "ibv_close_device", version, &verbs.close_device);
	look_up(lib, "ibv_alloc_pd", version, &verbs.alloc_pd);
	look_up(lib, "ibv_dealloc_pd", version, &verbs.dealloc_pd);
	look_up(lib, "ibv_reg_mr", version, &verbs.reg_mr);
	look_up(lib, "ibv_dereg_mr", version, &verbs.dereg_mr);
	look_up(lib, "ibv_create_cq", version, &verbs.create_cq);
	look_up(lib, "ibv_destroy_cq", version, &verbs.destroy_cq);
	look_up(lib, "ibv_wc_status_str", version, &verbs.wc_status_str);
}

static void use(void)
{
	static char buf[4096];
	int cnt = 0;
	struct ibv_device **list = verbs.get_device_list(&cnt);

	NEED(list && cnt > 0);
	NEED(strncmp(verbs.get_device_name(list[0]), "verbena", 7) == 0);

	struct ibv_context *ctx = verbs.open_device(list[0]);

	NEED(ctx);
	verbs.free_device_list(list);

	struct ibv_pd *pd = verbs.alloc_pd(ctx);
	struct ibv_cq *cq = verbs.create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_mr *mr = verbs.reg_mr(pd, buf, sizeof buf, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;

	NEED(pd && cq && mr);
	NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	errno = 0;
	NEED(!verbs.reg_mr(pd, (void *)64, sizeof buf, 0) && errno == EFAULT);
	NEED(strcmp(verbs.wc_status_str(IBV_WC_SUCCESS), "success") == 0);
	NEED(verbs.dereg_mr(mr) == 0 && verbs.destroy_cq(cq) == 0 && verbs.dealloc_pd(pd) == 0);
	NEED(verbs.close_device(ctx) == 0);
}

/* Each entry point of the adapter, by name and by version, is not rdma-core's. */
static void check_origin(void *lib, char *name)
{
	char *version = strchr(name, '@');
	void *plain, *versioned;
	Dl_info info;

	NEED(version);
	*version++ = 0;
	look_up(lib, name, NULL, &plain);
	look_up(lib, name, version, &versioned);
	NEED(dladdr(plain, &info) && strstr(info.dli_fname, "libverbena.so"));
	NEED(dladdr(versioned, &info) && strstr(info.dli_fname, "libverbena.d/"));
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"libibverbs.so.1", "libibverbs.so"};

	for (int i = 0; i < 2; i++) {
		void *lib = dlopen(names[i], i ? RTLD_LAZY | RTLD_GLOBAL : RTLD_NOW | RTLD_LOCAL);

		if (!lib)
			fprintf(stderr, "%s\n", dlerror());
		NEED(lib);
		look_up_all(lib, NULL);
		use();
		look_up_all(lib, "IBVERBS_1.1");
		use();
		for (int k = 1; i == 0 && k < argc; k++)
			check_origin(lib, argv[k]);
	}
	puts("ok");
	return 0;
}
