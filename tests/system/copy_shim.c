/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a program whose names ibv_* were changed to jbv_* (case_copy.py): each leads to
 * the function of the copy of libibverbs that COPY names, loaded for this library alone. So a
 * program of rdma-core runs on a copy that no preloaded library stands before.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMES                                                                                      \
	NAME(ack_async_event)                                                                      \
	NAME(ack_cq_events)                                                                        \
	NAME(alloc_pd)                                                                             \
	NAME(attach_mcast)                                                                         \
	NAME(close_device)                                                                         \
	NAME(create_ah)                                                                            \
	NAME(create_ah_from_wc)                                                                    \
	NAME(create_comp_channel)                                                                  \
	NAME(create_cq)                                                                            \
	NAME(create_qp)                                                                            \
	NAME(create_srq)                                                                           \
	NAME(dealloc_pd)                                                                           \
	NAME(dereg_mr)                                                                             \
	NAME(destroy_ah)                                                                           \
	NAME(destroy_comp_channel)                                                                 \
	NAME(destroy_cq)                                                                           \
	NAME(destroy_qp)                                                                           \
	NAME(destroy_srq)                                                                          \
	NAME(detach_mcast)                                                                         \
	NAME(event_type_str)                                                                       \
	NAME(fork_init)                                                                            \
	NAME(free_device_list)                                                                     \
	NAME(get_async_event)                                                                      \
	NAME(get_cq_event)                                                                         \
	NAME(get_device_guid)                                                                      \
	NAME(get_device_list)                                                                      \
	NAME(get_device_name)                                                                      \
	NAME(get_pkey_index)                                                                       \
	NAME(get_sysfs_path)                                                                       \
	NAME(modify_qp)                                                                            \
	NAME(modify_srq)                                                                           \
	NAME(node_type_str)                                                                        \
	NAME(open_device)                                                                          \
	NAME(port_state_str)                                                                       \
	NAME(qp_to_qp_ex)                                                                          \
	NAME(query_device)                                                                         \
	NAME(query_gid)                                                                            \
	NAME(query_gid_type)                                                                       \
	NAME(query_pkey)                                                                           \
	NAME(query_port)                                                                           \
	NAME(query_qp)                                                                             \
	NAME(rate_to_mbps)                                                                         \
	NAME(mbps_to_rate)                                                                         \
	NAME(read_sysfs_file)                                                                      \
	NAME(reg_mr)                                                                               \
	NAME(reg_mr_iova2)                                                                         \
	NAME(resize_cq)                                                                            \
	NAME(wc_status_str)

#if defined(__x86_64__)
#define JUMP(name) "jmp *copy_ibv_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name)                                                                                 \
	"adrp x16, copy_ibv_" #name "\nldr x16, [x16, :lo12:copy_ibv_" #name "]\nbr x16\n"
#endif
#define NAME(name)                                                                                 \
	void *copy_ibv_##name __attribute__((visibility("hidden")));                               \
	__asm__(".globl jbv_" #name "\n.type jbv_" #name ", %function\njbv_" #name                 \
		":\n" JUMP(name));
NAMES
#undef NAME

__attribute__((constructor)) static void open_copy(void)
{
	const char *path = getenv("COPY");
	void *copy = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!copy) {
		fprintf(stderr, "copy_shim: %s\n", path ? dlerror() : "COPY is not set");
		_Exit(3);
	}
#define NAME(name) copy_ibv_##name = dlsym(copy, "ibv_" #name);
	NAMES
#undef NAME
}
