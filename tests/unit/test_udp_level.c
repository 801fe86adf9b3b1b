/* SPDX-License-Identifier: BSD-2-Clause */
/* The service level of a path: the priority of what is sent over UDP. */
#include "udp_world.h"

#include <sys/socket.h>

static int priority_of(const struct fixture *f, const struct vb_path *path)
{
	const struct vb_udp_sock *s = vb_udp_sock_find(&f->udp->socks, path);
	int is = -1;
	socklen_t len = sizeof is;

	assert_int_equal(getsockopt(s->fd, SOL_SOCKET, SO_PRIORITY, &is, &len), 0);
	return is;
}

/* The priority that the kernel makes of a traffic class. */
static int priority_of_class(int tc)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), is = -1;
	socklen_t len = sizeof is;

	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TOS, &tc, sizeof tc), 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &is, &len), 0);
	close(fd);
	return is;
}

static void send_one(struct fixture *f, const struct vb_path *path)
{
	clear(f);
	add(f, path, 64, 1);
	assert_int_equal(send_all(f), 1);
	check_arrival(f, 1);
}

/* A service level is the priority of what is sent, whatever its traffic class; none leaves it to
 * the kernel. */
static void send__service_level(void **state)
{
	struct fixture *f = *state;
	struct vb_rx rx[4];

	for (size_t v = 0; v < FAMILIES; v++) {
		struct vb_path *path = v ? &f->path6 : &f->path4;
		struct vb_path other;

		path->sl = 5;
		send_one(f, path);
		assert_int_equal(priority_of(f, path), 5);
		path->traffic_class = 0x10;    /* which has a priority of the kernel's... */
		for (int i = 0; i < 40; i++) { /* ... once the class is the socket's own */
			send_one(f, path);
			assert_int_equal(priority_of(f, path), 5);
		}
		path->sl = 3;
		send_one(f, path);
		assert_int_equal(priority_of(f, path), 3);
		path->sl = 0;
		send_one(f, path);
		assert_int_equal(priority_of(f, path), v ? 0 : priority_of_class(0x10));
		path->sl = 15; /* which takes a privilege */
		send_one(f, path);
		assert_true(priority_of(f, path) == 15 || priority_of(f, path) == 6);

		/* Packets of two levels do not leave together. */
		other = *path;
		other.sl = 4;
		clear(f);
		add(f, path, 64, 1);
		add(f, &other, 64, 1);
		assert_int_equal(send_all(f), 2);
		assert_int_equal(priority_of(f, path), 4);
		for (uint32_t k = 0; k < 2; k++) {
			assert_int_equal(recv_some(f, rx, 1), 1);
			check_packet(f, &rx[0], k);
		}
		path->sl = path->traffic_class = 0;
		for (int i = 0; i < 40; i++)
			send_one(f, path);
		assert_int_equal(priority_of(f, path), v ? 0 : priority_of_class(0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(send__service_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
