/* SPDX-License-Identifier: BSD-2-Clause */
/* How slow this machine is, see pace.h. */
#include "node/host/pace.h"

#include "node/host/clock.h"

#include <sys/eventfd.h>
#include <unistd.h>

#define CALLS 4
/* The time that they take on the machines that the times were chosen on. */
#define CALLS_USUAL_NS 1600u
#define SLOW_MAX 32u
/* One of so many tries is not interrupted. */
#define TRIES 8

static vb_dur time_calls(int fd)
{
	vb_time from = vb_clock_now();
	uint64_t cnt = 1;

	for (int i = 0; i < CALLS; i++)
		if (write(fd, &cnt, sizeof cnt) < 0 || read(fd, &cnt, sizeof cnt) < 0)
			break;
	return vb_clock_now() - from;
}

uint32_t vb_pace_slowness(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	vb_dur least = VB_SEC;

	if (fd < 0)
		return 1;
	for (int i = 0; i < TRIES; i++) {
		vb_dur d = time_calls(fd);

		least = d < least ? d : least;
	}
	close(fd);

	uint64_t slow = least / CALLS_USUAL_NS;

	return slow < 1 ? 1 : slow > SLOW_MAX ? SLOW_MAX : (uint32_t)slow;
}
