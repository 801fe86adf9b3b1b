/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots and host memory without a broker, and an engine in the first slot for a program, as the
 * broker has one in its own: what programs and brokers write there, the test writes itself.
 */
#ifndef VB_TESTS_UNIT_ENGINE_SLOT_ENV_H
#define VB_TESTS_UNIT_ENGINE_SLOT_ENV_H

#include "cmocka_env.h"
#include "descriptors.h"
#include "netns.h"
#include "node/engine/priv.h"
#include "node/netdev/devices.h"
#include "node/netdev/netdev.h"
#include "node/store/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct vb_slots slots;
static unsigned slots_before; /* descriptors of this process */
static char engine_why[256];

static inline int slots_setup(void **state)
{
	static struct vb_netdevs netdevs;

	(void)state;
	slots_before = descriptors_of(getpid());
	assert_int_equal(vb_slots_init(&slots), 0);
	assert_int_equal(vb_netdev_read(&netdevs), 0);
	assert_true(vb_devices_update(slots.host, &netdevs, 0));
	assert_int_equal(vb_slots_start(&slots), 0);
	assert_int_equal(vb_slots_take(&slots, getpid(), "test"), VB_SLOT_FIRST);
	return 0;
}

static inline int slots_teardown(void **state)
{
	(void)state;
	vb_slots_close(&slots);
	assert_int_equal(descriptors_of(getpid()), slots_before);
	return 0;
}

static inline struct vb_host_memory *host_memory(void)
{
	return (struct vb_host_memory *)slots.host;
}

/* The slot as the broker gives it to a client. */
static inline struct vb_broker_client slot_client(void)
{
	struct vb_host_memory *m = host_memory();

	return (struct vb_broker_client){.sock = -1,
					 .fd_store = -1,
					 .rx_fd = dup(slots.group.fd[VB_SLOT_FIRST]),
					 .slot = VB_SLOT_FIRST,
					 .shm = slots.slot[VB_SLOT_FIRST].shm,
					 .host = slots.host,
					 .flow = m->flow,
					 .bell = m->bell,
					 .queue_idle = m->queue_idle,
					 .wakeup = m->wakeup,
					 .mailbox = m->mailbox};
}

static inline int engine_try(struct vb_engine **e)
{
	struct vb_broker_client at = slot_client();

	engine_why[0] = 0;
	return vb_engine_open_inside(e, &at, engine_why, sizeof engine_why);
}

static inline struct vb_engine *engine_open(void)
{
	struct vb_engine *e;

	assert_int_equal(engine_try(&e), 0);
	return e;
}

/* The next generation of the device table, with device @i as @d says. */
static inline void device_write(uint32_t i, const struct vb_device *d)
{
	vb_host_write_begin(slots.host);
	slots.host->device[i] = *d;
	if (slots.host->device_cnt <= i)
		slots.host->device_cnt = i + 1;
	slots.host->generation++;
	vb_host_write_end(slots.host);
}

#define SLOT_TEST(f) cmocka_unit_test_setup_teardown(f, slots_setup, slots_teardown)

#endif
