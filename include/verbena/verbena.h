/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbena's own interface, beside the verbs: what the adapter of this host is and what it has
 * counted, over all processes. Programs that only use verbs need none of it.
 *
 * Link with libverbena (pkg-config verbena). An object belongs to one thread at a time.
 */
#ifndef VERBENA_VERBENA_H
#define VERBENA_VERBENA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VERBENA_VERSION_MAJOR 0
#define VERBENA_VERSION_MINOR 2
#define VERBENA_VERSION_PATCH 0

#define VERBENA_NAME_MAX 32
#define VERBENA_GIDS_MAX 32

/* The version of the library that is running: MAJOR.MINOR.PATCH, as semver.org has it. */
const char *verbena_version(void);

/* A view of the adapter. The adapter stays up for as long as a view is open. */
struct verbena;

/*
 * Opens a view. Returns 0 and the view in *out, or a negative errno and one line for the user in
 * @why (of @why_size > 0 bytes): -ENOENT when the `verbena` program cannot be found, -EACCES,
 * -EMFILE, -ENOMEM, -ETIMEDOUT.
 */
int verbena_open(struct verbena **out, char *why, size_t why_size);
void verbena_close(struct verbena *v);

struct verbena_device {
	char name[VERBENA_NAME_MAX];   /* "verbena0", as verbs programs see it */
	char netdev[VERBENA_NAME_MAX]; /* "eth0" */
	uint32_t ifindex;
	uint32_t is_active;  /* 1: the port is ACTIVE, 0: DOWN */
	uint32_t active_mtu; /* largest path MTU: 256 ... 4096 bytes */
	uint32_t netdev_mtu; /* bytes */
	uint32_t speed_mbps; /* 0: unknown */
	uint32_t reserved;
	uint64_t guid; /* host byte order */
	/* Network byte order, by index; all zero where there is none. */
	uint8_t gid[VERBENA_GIDS_MAX][16];
};

/*
 * Reads the devices into @dev, at most @max. Returns how many there are, which may be more than
 * @max, or -ECONNRESET when the adapter's broker has gone: open a new view then.
 */
int verbena_devices(struct verbena *v, struct verbena_device *dev, int max);

struct verbena_counter {
	const char *name; /* the kernel's where there is one; lives as long as the library */
	const char *text; /* what it counts */
	uint64_t value;   /* since the adapter came up; never runs backwards */
};

/*
 * Reads the counters of the device called @device into @c, at most @max. Returns how many there
 * are, -ENODEV when there is no such device, or -ECONNRESET as above.
 */
int verbena_counters(struct verbena *v, const char *device, struct verbena_counter *c, int max);

/*
 * Waits for the interrupt of CNPs on the device called @device: until QPs with cnp_irq_en have got
 * CNPs, seen as one or several, since *count was what it says (begin with what a call with
 * @timeout_ms 0 leaves there). Returns 1 with the new *count, which wraps, and in *qpn whose CNP
 * was the last; 0 after @timeout_ms ms (negative: never); -ENODEV, -EINTR, or -ECONNRESET as above.
 */
int verbena_wait_cnp(struct verbena *v, const char *device, uint32_t *count, uint32_t *qpn,
		     int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
