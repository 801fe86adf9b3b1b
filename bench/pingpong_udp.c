/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The floor for ib_write_lat: two processes throw one UDP datagram to and fro, both polling. It is
 * as long as an RDMA WRITE of 2 bytes in RoCEv2; nothing is computed. Half round trips, as perftest
 * counts them.
 *
 *   pingpong_udp [ROUNDS]
 */
#include "bench.h"

#define DATAGRAM (12 + 16 + 4 + 4) /* BTH, RETH, payload with pad, ICRC */

static int fd_a, fd_b;

/* Not connected, as an adapter's sockets cannot be. */
static void throw_to(int fd, const struct sockaddr_in *to)
{
	static const char datagram[DATAGRAM];

	bench_check(sendto(fd, datagram, sizeof datagram, 0, (const struct sockaddr *)to,
			   sizeof *to) == DATAGRAM,
		    "sendto");
}

static void catch_at(int fd)
{
	char buf[2 * DATAGRAM];

	while (recv(fd, buf, sizeof buf, MSG_DONTWAIT) < 0)
		;
}

static struct sockaddr_in addr_a, addr_b;

static void other_side(void)
{
	for (;;) {
		catch_at(fd_b);
		throw_to(fd_b, &addr_a);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	uint64_t rounds = bench_number(argc, argv, 1, 100000), sum = 0;
	uint64_t *t = calloc(rounds, sizeof *t);

	bench_check(t != NULL, "calloc");
	fd_a = bench_socket(&addr_a, 0);
	fd_b = bench_socket(&addr_b, 0);

	pid_t peer = bench_peer(other_side);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t start = bench_now();

		throw_to(fd_a, &addr_b);
		catch_at(fd_a);
		t[i] = bench_now() - start;
		sum += t[i];
	}
	bench_peer_end(peer);
	qsort(t, rounds, sizeof *t, compare);

	uint64_t median = t[rounds / 2], late = t[rounds * 99 / 100];

	printf("min %.2f typical %.2f average %.2f 99%% %.2f us\n", (double)t[0] / 2000,
	       (double)median / 2000, (double)sum / (double)rounds / 2000, (double)late / 2000);
	free(t);
	return 0;
}
