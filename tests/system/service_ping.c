/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the service on the consumer socket of the environment for its state. 0 when it answers.
 */
#include "base/sock.h"
#include "service_peer_consumer.h"

int main(void)
{
	static struct peer p;

	peer_connect(&p, sock_default_consumer());
	return peer_accepted(&p, peer_call(&p, C_QUERY_STATE, NULL, 0)) ? 0 : 1;
}
