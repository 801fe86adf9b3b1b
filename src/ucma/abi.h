/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of commands, replies and events of /dev/infiniband/rdma_cm, ABI 4, as Linux has them in
 * <rdma/rdma_user_cm.h> and <rdma/ib_user_sa.h>; those headers are not for a folder that knows no
 * sockets. Numbers are in host order unless said otherwise. CMP-31, CMP-32
 */
#ifndef VB_UCMA_ABI_H
#define VB_UCMA_ABI_H

#include <stdint.h>

enum vb_ucma_cmd {
	VB_UCMA_CREATE_ID,
	VB_UCMA_DESTROY_ID,
	VB_UCMA_BIND_IP,
	VB_UCMA_RESOLVE_IP,
	VB_UCMA_RESOLVE_ROUTE,
	VB_UCMA_QUERY_ROUTE,
	VB_UCMA_CONNECT,
	VB_UCMA_LISTEN,
	VB_UCMA_ACCEPT,
	VB_UCMA_REJECT,
	VB_UCMA_DISCONNECT,
	VB_UCMA_INIT_QP_ATTR,
	VB_UCMA_GET_EVENT,
	VB_UCMA_GET_OPTION,
	VB_UCMA_SET_OPTION,
	VB_UCMA_NOTIFY,
	VB_UCMA_JOIN_IP_MCAST,
	VB_UCMA_LEAVE_MCAST,
	VB_UCMA_MIGRATE_ID,
	VB_UCMA_QUERY,
	VB_UCMA_BIND,
	VB_UCMA_RESOLVE_ADDR,
	VB_UCMA_JOIN_MCAST,
	VB_UCMA_CMD_CNT
};

enum vb_ucma_event_kind {
	VB_UCMA_EV_ADDR_RESOLVED,
	VB_UCMA_EV_ADDR_ERROR,
	VB_UCMA_EV_ROUTE_RESOLVED,
	VB_UCMA_EV_ROUTE_ERROR,
	VB_UCMA_EV_CONNECT_REQUEST,
	VB_UCMA_EV_CONNECT_RESPONSE,
	VB_UCMA_EV_CONNECT_ERROR,
	VB_UCMA_EV_UNREACHABLE,
	VB_UCMA_EV_REJECTED,
	VB_UCMA_EV_ESTABLISHED,
	VB_UCMA_EV_DISCONNECTED,
	VB_UCMA_EV_DEVICE_REMOVAL,
	VB_UCMA_EV_MULTICAST_JOIN,
	VB_UCMA_EV_MULTICAST_ERROR,
	VB_UCMA_EV_ADDR_CHANGE,
	VB_UCMA_EV_TIMEWAIT_EXIT,
};

/* Port spaces. CMP-29 */
enum vb_ucma_ps {
	VB_UCMA_PS_IPOIB = 0x0002,
	VB_UCMA_PS_TCP = 0x0106,
	VB_UCMA_PS_UDP = 0x0111,
	VB_UCMA_PS_IB = 0x013f,
};

#define VB_UCMA_AF_INET 2
#define VB_UCMA_AF_INET6 10
#define VB_UCMA_AF_IB 27
#define VB_UCMA_SOCKADDR_IN 16
#define VB_UCMA_SOCKADDR_IN6 28
#define VB_UCMA_SOCKADDR_IB 48
#define VB_UCMA_SOCKADDR_STORAGE 128
#define VB_UCMA_PRIVATE_DATA 256

struct vb_ucma_hdr {
	uint32_t cmd;
	uint16_t in, out; /* bytes of the body, and of room for the reply */
};

struct vb_ucma_create_id {
	uint64_t uid, response;
	uint16_t ps;
	uint8_t qp_type; /* enum ibv_qp_type */
	uint8_t rsv[5];
};

/* DESTROY_ID and LEAVE_MCAST. */
struct vb_ucma_destroy_id {
	uint64_t response;
	uint32_t id, rsv;
};

struct vb_ucma_bind_ip {
	uint64_t response;
	uint8_t addr[VB_UCMA_SOCKADDR_IN6];
	uint32_t id;
};

struct vb_ucma_bind {
	uint32_t id;
	uint16_t addr_size, rsv;
	uint8_t addr[VB_UCMA_SOCKADDR_STORAGE];
};

struct vb_ucma_resolve_ip {
	uint8_t src[VB_UCMA_SOCKADDR_IN6], dst[VB_UCMA_SOCKADDR_IN6];
	uint32_t id, timeout_ms;
};

struct vb_ucma_resolve_addr {
	uint32_t id, timeout_ms;
	uint16_t src_size, dst_size;
	uint32_t rsv;
	uint8_t src[VB_UCMA_SOCKADDR_STORAGE], dst[VB_UCMA_SOCKADDR_STORAGE];
};

struct vb_ucma_resolve_route {
	uint32_t id, timeout_ms;
};

struct vb_ucma_user_path {
	uint8_t dgid[16], sgid[16];
	uint16_t dlid, slid; /* big-endian */
	uint32_t raw_traffic;
	uint32_t flow_label; /* big-endian */
	uint32_t reversible, mtu;
	uint16_t pkey; /* big-endian */
	uint8_t hop_limit, traffic_class, numb_path, sl, mtu_selector, rate_selector, rate;
	uint8_t packet_life_time_selector, packet_life_time, preference;
};

/* QUERY_ROUTE and QUERY. */
struct vb_ucma_query {
	uint64_t response;
	uint32_t id, option;
};
enum { VB_UCMA_QUERY_ADDR, VB_UCMA_QUERY_PATH, VB_UCMA_QUERY_GID };

struct vb_ucma_route_reply {
	uint64_t node_guid; /* big-endian */
	struct vb_ucma_user_path path[2];
	uint8_t src[VB_UCMA_SOCKADDR_IN6], dst[VB_UCMA_SOCKADDR_IN6];
	uint32_t num_paths;
	uint8_t port_num, rsv[3];
	uint32_t device_index, rsv1;
};

struct vb_ucma_addr_reply {
	uint64_t node_guid; /* big-endian */
	uint8_t port_num, rsv;
	uint16_t pkey;
	uint16_t src_size, dst_size;
	uint8_t src[VB_UCMA_SOCKADDR_STORAGE], dst[VB_UCMA_SOCKADDR_STORAGE];
	uint32_t device_index, rsv1;
};

/* A path of QUERY_PATH and of the option PATH: a PathRecord as it is in a MAD. */
struct vb_ucma_path_data {
	uint32_t flags, rsv;
	uint8_t record[64];
};
#define VB_UCMA_PATH_FLAGS 0x2bu /* GMP, PRIMARY, BIDIRECTIONAL */

struct vb_ucma_path_reply {
	uint32_t num_paths, rsv;
	struct vb_ucma_path_data path;
};

struct vb_ucma_conn_param {
	uint32_t qp_num, qkey;
	uint8_t private_data[VB_UCMA_PRIVATE_DATA];
	uint8_t private_data_len, srq, responder_resources, initiator_depth;
	uint8_t flow_control, retry_count, rnr_retry_count, valid;
};

struct vb_ucma_ah_attr {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class, rsv;
	uint16_t dlid;
	uint8_t sl, src_path_bits, static_rate, is_global, port_num, rsv1;
};

struct vb_ucma_ud_param {
	uint32_t qp_num, qkey;
	struct vb_ucma_ah_attr ah;
	uint8_t private_data[VB_UCMA_PRIVATE_DATA];
	uint8_t private_data_len, rsv[7];
};

struct vb_ucma_ece {
	uint32_t vendor_id, attr_mod;
};

struct vb_ucma_connect {
	struct vb_ucma_conn_param param;
	uint32_t id, rsv;
	struct vb_ucma_ece ece; /* absent in older libraries */
};

struct vb_ucma_listen {
	uint32_t id;
	int32_t backlog;
};

struct vb_ucma_accept {
	uint64_t uid;
	struct vb_ucma_conn_param param;
	uint32_t id, rsv;
	struct vb_ucma_ece ece; /* absent in older libraries */
};

struct vb_ucma_reject {
	uint32_t id;
	uint8_t private_data_len, reason, rsv[2];
	uint8_t private_data[VB_UCMA_PRIVATE_DATA];
};

struct vb_ucma_disconnect {
	uint32_t id;
};

struct vb_ucma_init_qp_attr {
	uint64_t response;
	uint32_t id, qp_state;
};

struct vb_ucma_qp_attr {
	uint32_t mask, qp_state, cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn;
	uint32_t dest_qp_num, access;
	struct vb_ucma_ah_attr ah, alt_ah;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
	uint16_t pkey_index, alt_pkey_index;
	uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout;
	uint8_t rsv[5];
};

struct vb_ucma_get_event {
	uint64_t response;
};

struct vb_ucma_event_reply {
	uint64_t uid;
	uint32_t id, event;
	int32_t status;
	union {
		struct vb_ucma_conn_param conn;
		struct vb_ucma_ud_param ud;
	};
	uint32_t rsv;
	struct vb_ucma_ece ece;
};

/* Room that the oldest librdmacm has for it. */
#define VB_UCMA_EVENT_REPLY_MIN 324u

struct vb_ucma_set_option {
	uint64_t optval;
	uint32_t id, level, optname, optlen;
};
enum { VB_UCMA_LEVEL_ID, VB_UCMA_LEVEL_IB };
enum { VB_UCMA_OPT_TOS, VB_UCMA_OPT_REUSEADDR, VB_UCMA_OPT_AFONLY, VB_UCMA_OPT_ACK_TIMEOUT };
enum { VB_UCMA_OPT_IB_PATH = 1 };

struct vb_ucma_notify {
	uint32_t id, event;
};

struct vb_ucma_join_ip_mcast {
	uint64_t response, uid;
	uint8_t addr[VB_UCMA_SOCKADDR_IN6];
	uint32_t id;
};

struct vb_ucma_join_mcast {
	uint64_t response, uid;
	uint32_t id;
	uint16_t addr_size, join_flags;
	uint8_t addr[VB_UCMA_SOCKADDR_STORAGE];
};

struct vb_ucma_migrate_id {
	uint64_t response;
	uint32_t id, fd;
};

/* Replies of CREATE_ID and the joins, of DESTROY_ID, LEAVE_MCAST and MIGRATE_ID: one number. */
struct vb_ucma_number_reply {
	uint32_t n;
};

_Static_assert(sizeof(struct vb_ucma_create_id) == 24, "CREATE_ID");
_Static_assert(sizeof(struct vb_ucma_bind_ip) == 40, "BIND_IP");
_Static_assert(sizeof(struct vb_ucma_bind) == 136, "BIND");
_Static_assert(sizeof(struct vb_ucma_resolve_ip) == 64, "RESOLVE_IP");
_Static_assert(sizeof(struct vb_ucma_resolve_addr) == 272, "RESOLVE_ADDR");
_Static_assert(sizeof(struct vb_ucma_route_reply) == 208, "QUERY_ROUTE");
_Static_assert(sizeof(struct vb_ucma_addr_reply) == 280, "QUERY");
_Static_assert(sizeof(struct vb_ucma_path_reply) == 80, "QUERY_PATH");
_Static_assert(sizeof(struct vb_ucma_connect) == 288, "CONNECT");
_Static_assert(sizeof(struct vb_ucma_accept) == 296, "ACCEPT");
_Static_assert(sizeof(struct vb_ucma_reject) == 264, "REJECT");
_Static_assert(sizeof(struct vb_ucma_qp_attr) == 144, "INIT_QP_ATTR");
_Static_assert(sizeof(struct vb_ucma_event_reply) == 336, "GET_EVENT");
_Static_assert(sizeof(struct vb_ucma_set_option) == 24, "SET_OPTION");
_Static_assert(sizeof(struct vb_ucma_join_ip_mcast) == 48, "JOIN_IP_MCAST");
_Static_assert(sizeof(struct vb_ucma_join_mcast) == 152, "JOIN_MCAST");

#endif
