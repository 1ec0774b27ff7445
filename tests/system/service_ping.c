/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the service on the consumer socket of the environment for its state, or, with addresses,
 * introduces itself as a producer at each. 0 when it answers.
 */
#include "base/event_loop/sock.h"
#include "service_peer_consumer.h"
#include "service_peer_producer.h"

static bool takes_producers(const char *address)
{
	static struct peer p;
	bool taken;

	peer_connect(&p, address);
	taken = peer_accepted(&p, peer_initialize(&p, "ping", false));
	peer_close(&p);
	return taken;
}

int main(int argc, char **argv)
{
	static struct peer p;

	for (int i = 1; i < argc; i++)
		if (!takes_producers(argv[i]))
			return 1;
	if (argc > 1)
		return 0;
	peer_connect(&p, sock_default_consumer());
	return peer_accepted(&p, peer_call(&p, C_QUERY_STATE, NULL, 0)) ? 0 : 1;
}
