/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt of CNPs between processes: a count in host memory that many write and anybody may
 * wait for, by the kernel's futex. A waiter maps that memory read-only; it is woken all the same.
 */
#include "base/time.h"
#include "node/broker/broker.h"
#include "node/host/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Between two looks whether the broker is still there. */
#define LOOK_NS VB_SEC

void vb_cnp_ring(struct vb_cnp_bell *b, uint32_t qpn)
{
	__atomic_store_n(&b->qpn, qpn, __ATOMIC_RELAXED);
	__atomic_fetch_add(&b->cnt, 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &b->cnt, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int vb_broker_wait_cnp(struct vb_broker_observer *o, uint32_t device, uint32_t *cnt, uint32_t *qpn,
		       int timeout_ms)
{
	const struct vb_cnp_bell *b =
	    &((const struct vb_host_memory *)(const void *)o->host)->bell[device];
	vb_time end = timeout_ms < 0 ? VB_NEVER : vb_clock_now() + (vb_time)timeout_ms * VB_MSEC;

	for (;;) {
		uint32_t is = __atomic_load_n(&b->cnt, __ATOMIC_ACQUIRE);
		vb_time now = vb_clock_now();

		if (is != *cnt) {
			*cnt = is;
			*qpn = __atomic_load_n(&b->qpn, __ATOMIC_RELAXED);
			return 1;
		}
		if (now >= end)
			return 0;

		vb_dur d = end - now < LOOK_NS ? end - now : LOOK_NS;
		struct timespec t = {(time_t)(d / VB_SEC), (long)(d % VB_SEC)};

		if (syscall(SYS_futex, &b->cnt, FUTEX_WAIT, is, &t, NULL, 0) < 0 && errno == EINTR)
			return -EINTR;
		if (vb_broker_observe_check(o))
			return -ECONNRESET;
	}
}
