/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Peers of another machine. */

#include "system/service_peer_remote.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* The id of the machine at 10.0.0.N that sends this hint. */
static inline uint32_t rig_machine_id(uint8_t n, const char *hint)
{
	struct ipc_peer p = {.is_remote = true,
			     .address = {.family = AF_INET, .ip = {10, 0, 0, n}}};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_str(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, hint);
	ipc_peer_set_identity(&p, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
	return p.machine_id;
}

/* Of 10.0.0.N, on a socket that offers RelayPort. */
static inline struct peer *rig_remote_peer(struct rig *r, uint8_t n)
{
	struct ipc_peer who = {.is_remote = true,
			       .uid = UID_UNKNOWN,
			       .machine_id = 0x1000u + n,
			       .address = {.family = AF_INET, .ip = {10, 0, 0, n}}};
	struct peer *p = malloc(sizeof(*p));
	int fds[2];

	assert_non_null(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	assert_int_equal(ipc_host_adopt_peer(r->service->producer_host, fds[0],
					     &r->service->entrances[1], &who),
			 0);
	peer_init(p, fds[1]);
	p->pump = rig_pump;
	p->ctx = r;
	return p;
}
