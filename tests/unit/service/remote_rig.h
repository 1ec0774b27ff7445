/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Peers of another machine. */

#include "unit/test.h"
#include "system/service_peer_remote.h"
#include "unit/service/rig.h"

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
