/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `verbena doctor`. Each tries the real thing where that harms nobody. */
#include "cmd/doctor/doctor.h"
#include "cmd/run/library.h"
#include "node/broker/broker.h"
#include "node/host/port_owner.h"
#include "node/store/group.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define BUFFER_GOOD (4 << 20) /* bytes of socket buffer that do not limit throughput */
#define NOFILE_GOOD 1024
#define OWNERS_MAX 16

__attribute__((format(printf, 3, 4))) static void
result(struct vb_check_result *r, enum vb_verdict_kind verdict, const char *fmt, ...)
{
	va_list ap;

	r->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(r->found, sizeof r->found, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void remedy(struct vb_check_result *r, const char *fmt,
							 ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->remedy, sizeof r->remedy, fmt, ap);
	va_end(ap);
}

static void look_cpu(struct vb_check_result *r)
{
	cpu_set_t set;
	int cnt = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
	bool fast = true;

#if defined(__x86_64__)
	fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif
	if (!fast) {
		result(r, VB_CHECK_WARN,
		       "%d CPU(s) without PCLMULQDQ: the ICRC costs about ten times as much", cnt);
		remedy(r, "if this is a virtual machine, pass the host's CPU flags through");
	} else if (cnt < 2) {
		result(r, VB_CHECK_WARN, "one CPU: both ends of a connection share it on one host");
		remedy(r, "give the program a second CPU");
	} else {
		result(r, VB_CHECK_OK, "%d CPUs, with the instructions for a fast ICRC", cnt);
	}
}

static void look_kernel(struct vb_check_result *r)
{
	struct sock_filter ret = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = {.len = 1, .filter = &ret};
	int one = 1, size = 1000;
	struct utsname u;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	uname(&u);
	bool steer = fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) &&
		     !setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof prog);
	bool gso = fd >= 0 && !setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
	bool gro = fd >= 0 && !setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one);

	if (fd >= 0)
		close(fd);
	if (!steer) {
		result(
		    r, VB_CHECK_FAIL,
		    "Linux %s refuses SO_REUSEPORT with a classic BPF program: packets cannot be "
		    "steered to processes",
		    u.release);
		remedy(r, "use Linux 4.5 or later, and a sandbox that allows these socket options");
	} else if (!gso || !gro) {
		result(r, VB_CHECK_WARN, "Linux %s lacks %s%s%s: every packet costs a system call",
		       u.release, gso ? "" : "UDP_SEGMENT", !gso && !gro ? " and " : "",
		       gro ? "" : "UDP_GRO");
		remedy(r, "use Linux 5.0 or later");
	} else {
		result(r, VB_CHECK_OK, "Linux %s, with UDP_SEGMENT, UDP_GRO and steering by BPF",
		       u.release);
	}
}

static void look_sandbox(struct vb_check_result *r)
{
	char line[256];
	int seccomp = 0;
	FILE *f = fopen("/proc/self/status", "re");
	int mem = (int)syscall(SYS_memfd_create, "verbena-doctor", 1u), err = errno;

	while (f && fgets(line, sizeof line, f))
		(void)sscanf(line, "Seccomp: %d", &seccomp);
	if (f)
		fclose(f);
	if (mem >= 0)
		close(mem);
	if (mem < 0) {
		result(r, VB_CHECK_FAIL, "memfd_create is refused: %s", strerror(err));
		remedy(r, "allow it in the seccomp profile of the container");
	} else if (!f) {
		result(r, VB_CHECK_WARN, "/proc is not readable: owners of ports cannot be named");
		remedy(r, "mount /proc");
	} else {
		/* Other calls that a filter forbids are only seen when they fail. */
		result(r, seccomp ? VB_CHECK_UNSEEN : VB_CHECK_OK,
		       seccomp ? "a seccomp filter is active; it allows memfd_create, which is "
				 "all that was tried"
			       : "no seccomp filter");
	}
}

static void look_ipv6(struct vb_check_result *r)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		result(r, VB_CHECK_WARN, "no IPv6: only IPv4 GIDs work");
		remedy(r, "enable IPv6 (boot parameter ipv6.disable=0) if a peer uses IPv6 GIDs");
		return;
	}
	close(fd);
	result(r, VB_CHECK_OK, "available");
}

/* The size that setsockopt(2) really gives; the kernel doubles the value for its own needs. */
static int buffer_size(int force, int plain)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = BUFFER_GOOD;
	socklen_t len = sizeof size;

	if (fd < 0)
		return 0;
	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof size))
		(void)setsockopt(fd, SOL_SOCKET, plain, &size, sizeof size);
	if (getsockopt(fd, SOL_SOCKET, plain, &size, &len))
		size = 0;
	close(fd);
	return size / 2;
}

static void look_buffers(struct vb_check_result *r)
{
	int rx = buffer_size(SO_RCVBUFFORCE, SO_RCVBUF);
	int tx = buffer_size(SO_SNDBUFFORCE, SO_SNDBUF);

	if (rx >= BUFFER_GOOD && tx >= BUFFER_GOOD) {
		result(r, VB_CHECK_OK, "socket buffers of %d KiB and more", BUFFER_GOOD >> 10);
		return;
	}
	result(
	    r, VB_CHECK_WARN,
	    "socket buffers are limited to %d KiB (receive) and %d KiB (send): less data in flight",
	    rx >> 10, tx >> 10);
	remedy(r, "as root: sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d", BUFFER_GOOD,
	       BUFFER_GOOD);
}

static void look_files(struct vb_check_result *r)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim)) {
		result(r, VB_CHECK_WARN, "the limit of open files is not known: %s",
		       strerror(errno));
	} else if (lim.rlim_max < NOFILE_GOOD) {
		result(r, VB_CHECK_WARN,
		       "at most %llu open files: few processes can share the adapter",
		       (unsigned long long)lim.rlim_max);
		remedy(r, "raise the hard limit (limits.conf(5), LimitNOFILE=) to %d", NOFILE_GOOD);
	} else {
		result(r, VB_CHECK_OK, "%llu open files, %llu at most",
		       (unsigned long long)lim.rlim_cur, (unsigned long long)lim.rlim_max);
	}
}

static void look_port(struct vb_check_result *r)
{
	struct vb_port_owner owner[OWNERS_MAX];
	struct vb_broker_observer o;
	char why[400];

	if (vb_broker_observe(&o, false, why, sizeof why) == 0) {
		bool has_group = o.host->is_open;

		if (has_group)
			result(r, VB_CHECK_OK, "UDP port %d is your broker's (process %" PRIu32 ")",
			       VB_ROCE_PORT, o.host->broker_pid);
		vb_broker_observe_end(&o);
		if (has_group)
			return;
	}
	int rc = vb_group_probe();
	if (rc == -EADDRINUSE) {
		int cnt = vb_port_owners(owner, OWNERS_MAX);

		r->verdict = VB_CHECK_FAIL;
		vb_port_explain(owner, cnt, r->found, sizeof r->found);
		remedy(r, "end that program, or work in another network namespace");
	} else if (rc) {
		result(r, VB_CHECK_FAIL, "UDP port %d cannot be bound: %s", VB_ROCE_PORT,
		       strerror(-rc));
		remedy(r, "look for a sandbox or security module that forbids it");
	} else {
		result(r, VB_CHECK_OK, "UDP port %d is free", VB_ROCE_PORT);
	}
}

static void look_broker(struct vb_check_result *r)
{
	struct vb_broker_observer o;

	if (vb_broker_observe(&o, true, r->found, sizeof r->found)) {
		r->verdict = VB_CHECK_FAIL;
		remedy(r, "no program can use the adapter before the broker runs");
		return;
	}
	if (o.host->sysfs_path[0] && o.host->sysfs_note[0]) {
		result(r, VB_CHECK_WARN, "starts and answers (process %" PRIu32 "), tree in %s: %s",
		       o.host->broker_pid, o.host->sysfs_path, o.host->sysfs_note);
		remedy(r, "have that removed, or set XDG_RUNTIME_DIR to a directory of your own");
	} else if (o.host->sysfs_path[0]) {
		result(r, VB_CHECK_OK, "starts and answers (process %" PRIu32 "), tree in %s",
		       o.host->broker_pid, o.host->sysfs_path);
	} else {
		result(r, VB_CHECK_WARN,
		       "starts and answers, but has no directory for the sysfs tree%s%s",
		       o.host->sysfs_note[0] ? ": " : "", o.host->sysfs_note);
		remedy(r, "make XDG_RUNTIME_DIR, /dev/shm or /tmp writable");
	}
	vb_broker_observe_end(&o);
}

static void look_devices(struct vb_check_result *r)
{
	static struct vb_host_shm host;
	struct vb_broker_observer o;
	char why[400], *at = r->found, small[64] = "", down[64] = "";
	size_t left = sizeof r->found;
	int cnt = 0;

	if (vb_broker_observe(&o, true, why, sizeof why)) {
		result(r, VB_CHECK_FAIL, "not known without a broker");
		return;
	}
	vb_host_read(o.host, &host);
	vb_broker_observe_end(&o);
	for (uint32_t i = 0; i < host.device_cnt; i++) {
		const struct vb_device *d = &host.device[i];

		if (!d->ifindex)
			continue;
		int n = snprintf(at, left, "%s%s on %s: MTU %" PRIu32 " (of %" PRIu32 ")%s",
				 cnt++ ? ", " : "", d->name, d->ifname,
				 vb_mtu_bytes((enum vb_mtu)d->active_mtu), d->netdev_mtu,
				 d->is_up ? "" : " DOWN");
		if (n < 0 || (size_t)n >= left)
			break;
		at += n;
		left -= (size_t)n;
		if (!d->is_up && !down[0])
			snprintf(down, sizeof down, "%s", d->ifname);
		if (d->active_mtu < VB_MTU_4096 && !small[0])
			snprintf(small, sizeof small, "%s", d->ifname);
	}
	if (!cnt) {
		result(r, VB_CHECK_FAIL, "no network device is up and has an IP address");
		remedy(r, "ip link set lo up, or configure a network device");
	} else if (down[0]) {
		r->verdict = VB_CHECK_WARN;
		remedy(r, "ip link set %s up, or look at its cable", down);
	} else if (small[0]) {
		r->verdict = VB_CHECK_WARN;
		remedy(r,
		       "where the network allows it: ip link set %s mtu 4200 (for path MTU 4096)",
		       small);
	}
}

/* In a child: the library's constructors are for programs that use it. */
static int try_load(const char *path)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(dlopen(path, RTLD_NOW | RTLD_LOCAL) ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void look_preload(struct vb_check_result *r)
{
	char path[PATH_MAX / 16], names[PATH_MAX];

	if (vb_library_path(path, sizeof path)) {
		result(r, VB_CHECK_FAIL, "libverbena.so is not at %s nor in the library directory",
		       path);
		remedy(r, "build or install it again, beside this program");
	} else if (strpbrk(path, ":;")) {
		result(r, VB_CHECK_FAIL,
		       "'%s' has a colon or semicolon, which ends a path in LD_PRELOAD", path);
		remedy(r, "move verbena to another directory");
	} else if (try_load(path)) {
		result(r, VB_CHECK_FAIL, "%s cannot be loaded", path);
		remedy(r, "see what 'ldd %s' misses", path);
	} else if (vb_library_names_path(names, sizeof names)) {
		result(r, VB_CHECK_WARN,
		       "%s loads, but nothing is there for programs that open libibverbs.so.1 by "
		       "name while they run",
		       path);
		remedy(r, "build verbena where libibverbs1 is installed");
	} else {
		result(r, VB_CHECK_OK, "%s loads; set-user-ID and static programs cannot use it",
		       path);
	}
}

static void look_rdma_core(struct vb_check_result *r)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (lib) {
		dlclose(lib);
		result(r, VB_CHECK_OK, "libibverbs.so.1 is installed");
		return;
	}
	result(r, VB_CHECK_WARN, "libibverbs.so.1 is not installed: verbs programs need it");
	remedy(r, "install it: apt-get install libibverbs1 ibverbs-utils perftest");
}

/* Other adapters do no harm, but a program may choose them. */
static void look_other_adapters(struct vb_check_result *r)
{
	DIR *d = opendir("/sys/class/infiniband");
	size_t len = 0;
	char names[256] = "";
	int err = errno;

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' && len < sizeof names - 1)
			len += (size_t)snprintf(names + len, sizeof names - len, " %s", e->d_name);
	if (d)
		closedir(d);
	if (!d && err != ENOENT) {
		result(r, VB_CHECK_UNSEEN, "/sys/class/infiniband cannot be read: %s",
		       strerror(err));
		return;
	}
	if (!names[0]) {
		result(r, VB_CHECK_OK, "no RDMA device of the kernel");
		return;
	}
	result(r, VB_CHECK_OK, "the kernel has RDMA devices too:%s", names);
}

static void look_firewall(struct vb_check_result *r)
{
	result(r, VB_CHECK_UNSEEN,
	       "cannot be seen from here: both hosts must let UDP port %d in, from any source port",
	       VB_ROCE_PORT);
	remedy(r, "'verbena doctor HOST' sends packets there and says what became of them");
}

const struct vb_check vb_checks[] = {
    {"cpu", look_cpu},
    {"kernel", look_kernel},
    {"sandbox", look_sandbox},
    {"ipv6", look_ipv6},
    {"buffers", look_buffers},
    {"open files", look_files},
    {"port", look_port},
    {"broker", look_broker},
    {"devices", look_devices},
    {"preload", look_preload},
    {"rdma-core", look_rdma_core},
    {"adapters", look_other_adapters},
    {"firewall", look_firewall},
    {0},
};
