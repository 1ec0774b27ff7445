/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>

#include "service_peer_consumer.h"
#include "service_peer_producer.h"
#include "service_tap.h"

/* What must still work after every hostile peer: others. */

static inline bool good_pair_steps(struct peer *p, struct peer *c)
{
	struct peer_session s = {0};
	struct peer_packets t;
	uint64_t stream, enable;
	const char *text = "fine";

	stream = peer_become_producer(p, "good", "good.src", 0, false);
	enable = peer_enable(
		c, "buffers { size_kb: 64 } data_sources { config { name: 'good.src' } }");
	CHECK(peer_await_session(p, stream, true, &s));
	peer_write_chunk(&s.smb, 0, 1, 0, &text, 1, true);
	CHECK(peer_accepted(p, peer_commit(p, 0, 0, s.buffer, 0)));
	CHECK(peer_accepted(c, peer_call(c, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(c, enable, NULL));
	CHECK(peer_read(c, &t) && peer_count_text(&t, "fine") == 1);
	peer_packets_free(&t);
	peer_unmap(&s);
	return true;
}

/* A well-behaved producer and a consumer record one packet. */
static inline bool good_pair_records(void)
{
	static struct peer p, c; /* large */
	bool good;

	peer_connect(&p, sock_default_producer());
	peer_connect(&c, sock_default_consumer());
	good = good_pair_steps(&p, &c);
	peer_close(&p);
	peer_close(&c);
	return good;
}
