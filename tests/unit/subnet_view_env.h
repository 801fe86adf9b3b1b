/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands to the fabric in the test's process (subnet_process_env.h), and its view as they write
 * it. */
#ifndef VB_TESTS_UNIT_SUBNET_VIEW_ENV_H
#define VB_TESTS_UNIT_SUBNET_VIEW_ENV_H

#include "node/subnet/view/view.h"

#include "subnet_process_env.h"
#include <sys/mman.h>

/* The caller ends it by vb_subnet_view_free(). @name: NULL, or of a node. */
static inline struct vb_subnet_view view_now(const char *name)
{
	struct vb_subnet_view v;
	char *bytes = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&bytes, &len);

	assert_non_null(f);
	assert_int_equal(vb_subnet_view_write(fabric, name, f, fabric_why, sizeof fabric_why), 0);
	assert_int_equal(fclose(f), 0);
	assert_true(vb_subnet_view_parse(&v, bytes, len));
	v.memory = bytes;
	return v;
}

static inline const struct vb_subnet_view_port *view_port(const struct vb_subnet_view *v,
							  uint32_t node, uint8_t port)
{
	return &v->port[v->node[node].first_port + port];
}

static __attribute__((unused)) char printed[16384];

/* Carries out a command; output is in @printed, a reason in @fabric_why. */
static inline int command(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC), rc;
	ssize_t n;

	assert_true(fd >= 0);
	fabric_why[0] = 0;
	rc = vb_subnet_command(fabric, text, fd, fabric_why, sizeof fabric_why);
	n = pread(fd, printed, sizeof printed - 1, 0);
	assert_true(n >= 0);
	printed[n] = 0;
	close(fd);
	return rc;
}

static inline struct vb_subnet_port *port_of(uint32_t node, uint8_t port)
{
	return &fabric->subnet.node[node].port[port];
}

#endif
