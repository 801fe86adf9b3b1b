/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ceiling for ib_write_bw: the least that RoCEv2 over UDP sockets has to do, and no transport.
 * One process gathers header, payload and ICRC of packets of MTU 4096 into GSO batches
 * of 15, with a CRC over each; another receives with UDP_GRO, checks each CRC and copies the
 * payload to where it belongs in a 64 KiB message. Bytes in flight are bounded by a credit for each
 * GSO batch.
 *
 *   ceiling_udp [SECONDS [BYTES_IN_FLIGHT]]
 */
#include "bench.h"

#include <isa-l/crc.h>
#include <netinet/udp.h>
#include <sys/uio.h>

#define MTU 4096
#define HDR 12
#define WIRE (HDR + MTU + 4)
#define GSO 15 /* 65507 / WIRE */
#define MESSAGE 65536

static int rx_fd, tx_fd;
static struct sockaddr_in rx_addr, tx_addr;

static void check_and_copy(const uint8_t *gso, int len, uint8_t *message, uint32_t *at)
{
	for (int off = 0; off + WIRE <= len; off += WIRE) {
		uint32_t crc, got;

		crc = crc32_gzip_refl(0, gso + off, HDR + MTU);
		memcpy(&got, gso + off + HDR + MTU, sizeof got);
		if (crc != got) {
			fprintf(stderr, "ceiling_udp: wrong CRC\n");
			_exit(1);
		}
		memcpy(message + *at, gso + off + HDR, MTU);
		*at = (*at + MTU) % MESSAGE;
	}
}

static void receiver(void)
{
	static uint8_t buf[65536], message[MESSAGE];
	uint32_t at = 0;

	for (;;) {
		int n = (int)recv(rx_fd, buf, sizeof buf, MSG_DONTWAIT);

		if (n < 0)
			continue;
		check_and_copy(buf, n, message, &at);
		sendto(rx_fd, "", 1, 0, (struct sockaddr *)&tx_addr, sizeof tx_addr);
	}
}

static void send_batch(const uint8_t *message, uint32_t *at)
{
	static uint8_t hdr[GSO][HDR];
	static uint32_t crc[GSO];
	struct iovec iov[3 * GSO];
	struct msghdr m = {.msg_name = &rx_addr,
			   .msg_namelen = sizeof rx_addr,
			   .msg_iov = iov,
			   .msg_iovlen = 3 * GSO};

	for (int i = 0; i < GSO; i++) {
		const uint8_t *payload = message + *at;

		*at = (*at + MTU) % MESSAGE;
		hdr[i][0]++;
		crc[i] = crc32_gzip_refl(0, hdr[i], HDR);
		crc[i] = crc32_gzip_refl(crc[i], payload, MTU);
		iov[3 * i] = (struct iovec){hdr[i], HDR};
		iov[3 * i + 1] = (struct iovec){(void *)(uintptr_t)payload, MTU};
		iov[3 * i + 2] = (struct iovec){&crc[i], sizeof crc[i]};
	}
	bench_check(sendmsg(tx_fd, &m, 0) == GSO * WIRE, "sendmsg");
}

int main(int argc, char **argv)
{
	uint64_t seconds = bench_number(argc, argv, 1, 2);
	uint64_t window = bench_number(argc, argv, 2, 256 << 10);
	static uint8_t message[MESSAGE];
	uint64_t batches = 0, credits = 0, start, now;
	uint32_t at = 0;
	int one = 1, seg = WIRE;
	char credit;

	for (int i = 0; i < MESSAGE; i++)
		message[i] = (uint8_t)i;
	rx_fd = bench_socket(&rx_addr, 8 << 20);
	tx_fd = bench_socket(&tx_addr, 0);
	bench_check(setsockopt(rx_fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one) == 0, "UDP_GRO");
	bench_check(setsockopt(tx_fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg) == 0,
		    "UDP_SEGMENT");

	pid_t peer = bench_peer(receiver);

	start = now = bench_now();
	while (now - start < seconds * 1000000000u) {
		while ((batches - credits) * GSO * WIRE < window) {
			send_batch(message, &at);
			batches++;
		}
		while (recv(tx_fd, &credit, 1, MSG_DONTWAIT) == 1)
			credits++;
		now = bench_now();
		if (waitpid(peer, NULL, WNOHANG) != 0)
			return 1;
	}
	bench_peer_end(peer);
	printf("%.1f MB/s\n", (double)credits * GSO * MTU * 1000 / (double)(now - start));
	return 0;
}
