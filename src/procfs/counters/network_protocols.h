/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "procfs/counters/counter_files.h"
#include "client/counters/counter_patterns.h"
#include "client/counters/counter_poll.h"
#include "procfs/counters/network_text.h"

/* The protocols of /proc/net/snmp, snmp6 and netstat: "Tcp", "Ip6", "TcpExt" ... each a group of
 * counters. */

#define NETWORK_PROTOCOLS_MAX 64
#define NETWORK_PROTOCOL_SIZE 32 /* of a name, with its NUL */

struct network_protocol {
	char name[NETWORK_PROTOCOL_SIZE];
	const struct counter_patterns *counters; /* borrowed */
	uint32_t track;
	struct counter_keys keys;
	struct counter_tracks tracks;
};

struct network_protocols {
	struct counter_poll *poll; /* borrowed */
	const struct counter_patterns *counters; /* borrowed */
	uint32_t group; /* the track that theirs stand under */
	struct network_protocol *all[NETWORK_PROTOCOLS_MAX]; /* owned */
	unsigned n;
};

/* Zero-initialise with the first three. */
void network_protocols_deinit(struct network_protocols *ps);

/* All of one file. 0 or -EBADMSG: some of it was left out. */
int network_protocols_read(struct network_protocols *ps, struct span text);
/* The same of snmp6, which has a line for each number. */
int network_protocols_read_snmp6(struct network_protocols *ps, struct span text);
