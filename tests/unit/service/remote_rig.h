/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Peers of another machine. */

#include "service/ipc/ipc_host.h"
#include "service/ipc/relay_port.h"
#include "service/ipc/remote_machines.h"
#include "system/service_peer_remote.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* The id of the machine at 10.0.0.N that sends this hint. */
static inline uint32_t remote_rig_machine_id(uint8_t n, const char *hint)
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

/* A second host of the service's producers, whose peers may bind RelayPort. */
static struct ipc_host *remote_host;
static const struct ipc_entrance *remote_entrance;

static inline void remote_rig_init(struct rig *r)
{
	static struct ipc_entrance entrance = {.extra = &relay_port_service};

	rig_init(r);
	entrance.extra_ctx = (void *)r->machines;
	remote_entrance = &entrance;
	assert_int_equal(
		ipc_host_new(r->loop, &producer_port_service, r->producers, r->quota, &remote_host),
		0);
}

static inline void remote_rig_deinit(struct rig *r)
{
	ipc_host_free(remote_host);
	rig_deinit(r);
}

/* Hands the socket to the service as that of 10.0.0.N. Returns 0 or -errno. */
static inline int remote_rig_adopt(int fd, uint8_t n)
{
	struct ipc_peer who = {.is_remote = true,
			       .uid = UID_UNKNOWN,
			       .machine_id = 0x1000u + n,
			       .address = {.family = AF_INET, .ip = {10, 0, 0, n}}};

	return ipc_host_adopt_peer(remote_host, fd, remote_entrance, &who);
}

static inline struct peer *remote_rig_peer(struct rig *r, uint8_t n)
{
	struct peer *p;
	int fd;

	p = rig_peer(r, &fd);
	assert_int_equal(remote_rig_adopt(fd, n), 0);
	return p;
}
