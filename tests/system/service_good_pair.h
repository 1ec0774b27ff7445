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

/* Connections of a user count until the service has read their end, for which it may take its time.
 * So one that is refused is tried again. */
static inline void good_consumer_connect(struct peer *c)
{
	uint64_t end = clock_mono_ns() + PEER_TIMEOUT_MS * NS_PER_MS;

	do {
		peer_close(c);
		peer_connect(c, sock_default_consumer());
	} while (!peer_accepted(c, peer_call(c, C_QUERY_CAPABILITIES, NULL, 0)) &&
		 clock_mono_ns() < end);
}

/* A well-behaved producer and a consumer record one packet. */
static inline bool good_pair_records(void)
{
	static struct peer p, c = {.fd = -1, .got_fd = -1}; /* large */
	bool good;

	peer_connect(&p, sock_default_producer());
	good_consumer_connect(&c);
	good = good_pair_steps(&p, &c);
	peer_close(&p);
	peer_close(&c);
	return good;
}
