/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of ordinary TCP sockets: echo of two megabytes, compared. Run under librdmacm's
 * librspreload.so its connection is one of RDMA CM, and it notices nothing.
 *
 *   sockets_echo server|client ADDRESS PORT      says "ok"
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURNS 20
#define PART 5000u

static char sent[100000], received[100000];

static void fail_with(const char *what)
{
	perror(what);
	exit(1);
}

/* One part goes and comes back before the next. */
static void exchange_parts(int sock)
{
	for (size_t at = 0; at < sizeof sent; at += PART) {
		if (write(sock, sent + at, PART) != PART)
			fail_with("write");
		for (size_t done = 0; done < PART;) {
			ssize_t n = read(sock, received + at + done, PART - done);

			if (n <= 0)
				fail_with("read");
			done += (size_t)n;
		}
	}
}

static void run_client(int sock, const struct addrinfo *to)
{
	if (connect(sock, to->ai_addr, to->ai_addrlen))
		fail_with("connect");
	for (int turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < sizeof sent; i++)
			sent[i] = (char)(i * 7 + (size_t)turn);
		exchange_parts(sock);
		if (memcmp(sent, received, sizeof sent) != 0) {
			puts("what came back differs");
			exit(1);
		}
	}
	shutdown(sock, SHUT_RDWR);
}

static void run_server(int sock, const struct addrinfo *at)
{
	const int on = 1;
	ssize_t n;
	int peer;

	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(sock, at->ai_addr, at->ai_addrlen) || listen(sock, 1))
		fail_with("listen");
	puts("listens");
	fflush(stdout);
	peer = accept(sock, NULL, NULL);
	if (peer < 0)
		fail_with("accept");
	while ((n = read(peer, received, sizeof received)) > 0)
		if (write(peer, received, (size_t)n) != n)
			fail_with("write");
	close(peer);
}

int main(int argc, char **argv)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *at;
	int sock;

	if (argc != 4 || getaddrinfo(argv[2], argv[3], &hints, &at))
		return 2;
	sock = socket(at->ai_family, SOCK_STREAM, 0);
	if (sock < 0)
		fail_with("socket");
	if (strcmp(argv[1], "server") == 0)
		run_server(sock, at);
	else
		run_client(sock, at);
	close(sock);
	freeaddrinfo(at);
	puts("ok");
	return 0;
}
