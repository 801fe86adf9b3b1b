/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The baseline for doorbells that coalesce: one sendto() for each message of 8 bytes,
 * while another process takes them out of the receiving socket as fast as it can.
 *
 *   sendto_rate [SECONDS]
 */
#include "bench.h"

#define DATAGRAM (12 + 16 + 8 + 4) /* BTH, RETH, payload, ICRC */
#define BURST 64

static int rx_fd;

static void receiver(void)
{
	static char buf[BURST][64];
	struct iovec iov[BURST];
	struct mmsghdr m[BURST] = {0};

	for (int i = 0; i < BURST; i++) {
		iov[i] = (struct iovec){buf[i], sizeof buf[i]};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	for (;;)
		(void)recvmmsg(rx_fd, m, BURST, MSG_DONTWAIT, NULL);
}

int main(int argc, char **argv)
{
	uint64_t seconds = bench_number(argc, argv, 1, 2), n = 0, start, now;
	static const char datagram[DATAGRAM];
	struct sockaddr_in rx_addr, tx_addr;
	int tx_fd = bench_socket(&tx_addr, 0);

	rx_fd = bench_socket(&rx_addr, 8 << 20);

	pid_t peer = bench_peer(receiver);

	start = now = bench_now();
	while (now - start < seconds * 1000000000u) {
		for (int i = 0; i < BURST; i++)
			n += sendto(tx_fd, datagram, sizeof datagram, 0,
				    (struct sockaddr *)&rx_addr, sizeof rx_addr) == DATAGRAM;
		now = bench_now();
	}
	bench_peer_end(peer);
	printf("%.0f messages/s\n", (double)n * 1e9 / (double)(now - start));
	return 0;
}
