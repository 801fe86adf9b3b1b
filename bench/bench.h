/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers of the programs in this folder: a clock, a peer process, sockets of loopback. */
#ifndef VB_BENCH_BENCH_H
#define VB_BENCH_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void bench_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* A UDP socket on 127.0.0.1 with a port of the kernel's choice, which goes to *addr. */
static inline int bench_socket(struct sockaddr_in *addr, int buffer)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof *addr;

	*addr =
	    (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bench_check(fd >= 0, "socket");
	bench_check(bind(fd, (struct sockaddr *)addr, sizeof *addr) == 0, "bind");
	bench_check(getsockname(fd, (struct sockaddr *)addr, &len) == 0, "getsockname");
	if (buffer != 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	return fd;
}

/* Runs @peer in a child process that ends with this one. */
static inline pid_t bench_peer(void (*peer)(void))
{
	pid_t pid = fork();

	bench_check(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		peer();
		_exit(0);
	}
	return pid;
}

static inline void bench_peer_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static inline uint64_t bench_number(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

#endif
