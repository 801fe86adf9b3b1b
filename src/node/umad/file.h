/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open umad file as the process behind it has it, the fabric's (node/subnet) or the broker
 * (host.h): calls of a program against the agents of its port, and messages for the program.
 * MAD-03 to MAD-05, MAD-11, MAD-14
 */
#ifndef VB_NODE_UMAD_FILE_H
#define VB_NODE_UMAD_FILE_H

#include "mgmt/agents.h"
#include "node/subnet/call.h"

struct vb_umad_file {
	struct vb_agents *agents; /* of its port */
	int number;               /* of the file among theirs */
	int sock;                 /* the end of the pair that the program has not */
	struct vb_umad_form form;
};

/* Names a file. All processes of the host share the names of sockets that are made of it
 * (files/umad/umad.c): a program of a fabric that has ended may have some still, and nobody is to
 * guess the next one. 0 or a negative errno. */
int vb_umad_token_draw(uint64_t *token);

/* Hands a message to the program: 0; -EAGAIN: there is no room in the socket; or another negative
 * errno, such as -ENOMEM, after which a later turn of the loop may try again. */
int vb_umad_file_send(const struct vb_umad_file *f, const struct vb_mad_message *m);

/* Carries out REGISTER_AGENT or REGISTER_AGENT2: the number of the agent, which *r describes then,
 * or a negative errno. */
int vb_umad_file_register(struct vb_umad_file *f, const struct vb_subnet_call *call,
			  struct vb_subnet_answer *answer, struct vb_agent_request *r);

/* Whether the port can send a message to its address. 0, or a negative errno. */
typedef int vb_umad_check(void *ctx, const struct vb_mad_message *m);

/* Carries out a write; the message is in the call, or in the memory that came along. @check: NULL:
 * the agents' own is enough. */
int vb_umad_file_write(const struct vb_umad_file *f, const struct vb_subnet_call *call,
		       const struct vb_fds *fds, vb_umad_check *check, void *ctx);

#endif
