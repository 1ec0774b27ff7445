/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <unistd.h>

#include "service_good_pair.h"

/* The user whose peers attack the service, if the test runs as root. Otherwise it is our own. */
#define ATTACKER 4242

static inline void connect_as_attacker(struct peer *peer, const char *address)
{
	bool may = geteuid() == 0;
	int r = may ? seteuid(ATTACKER) : 0;

	assert(r == 0);
	peer_connect(peer, address);
	r = may ? seteuid(0) : 0;
	assert(r == 0);
	(void)r;
}

/* Does another consumer get an answer? */
static inline bool query_is_answered(void)
{
	static struct peer q; /* large */
	bool good;

	peer_connect(&q, sock_default_consumer());
	good = peer_accepted(&q, peer_call(&q, C_QUERY_CAPABILITIES, NULL, 0));
	peer_close(&q);
	return good;
}
