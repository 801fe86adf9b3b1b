/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs with a node of InfiniBand in the place of "lo": the test writes into the table of
 * devices what a fabric's process would, and no packet leaves.
 */
#ifndef VB_TESTS_UNIT_VERBS_FABRIC_ENV_H
#define VB_TESTS_UNIT_VERBS_FABRIC_ENV_H

#include "verbs/priv.h"
#include "verbs_env.h"

#include <fcntl.h>
#include <sys/mman.h>

/* The memory of the host, of which this process has a copy of its own from now on: a test writes
 * there what a broker would. */
static inline struct vb_host_shm *own_host(void)
{
	const size_t size = offsetof(struct vb_host_memory, flow);
	struct vb_engine *e = vb_ibv_ctx(ctx)->engine;
	void *host = (void *)(uintptr_t)vb_engine_host(e);
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(copy != MAP_FAILED);
	vb_engine_lock(e);
	memcpy(copy, host, size);
	assert_ptr_equal(mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, host), host);
	vb_engine_unlock(e);
	return host;
}

#define SYSTEM_GUID 0x1122334455667788

/* Two ports of a node of InfiniBand in the place of "lo", and a context of them. */
static inline struct ibv_context *open_fabric(struct vb_host_shm *host)
{
	struct ibv_context *c;

	for (uint8_t i = 0; i < 2; i++) {
		struct vb_device *d = &host->device[i];

		*d = host->device[0];
		memset(d->gid, 0, sizeof d->gid);
		memset(d->pkey, 0, sizeof d->pkey);
		d->gid[i] =
		    (struct vb_gid_entry){{{0xfe, 0x80, [15] = (uint8_t)(i + 1)}}, VB_GID_IB};
		d->pkey[i + 1u] = (uint16_t)(0x8001 + i);
		d->speed_mbps = i ? 10000 : 100000;
		d->ib = (struct vb_device_ib){.number = (uint8_t)(i + 1),
					      .port_cnt = 2,
					      .state = 4,
					      .gid_cnt = 8,
					      .pkey_cnt = 5,
					      .lid = (uint16_t)(0x10 << i),
					      .system_guid = SYSTEM_GUID};
	}
	c = ibv_open_device(ctx->device);
	assert_non_null(c);
	assert_int_equal(fcntl(c->async_fd, F_SETFL, O_RDWR | O_NONBLOCK), 0);
	return c;
}

#endif
