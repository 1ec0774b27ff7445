/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/counters/polled_source.h"
#include "procfs/counters/counter_files.h"
#include "procfs/counters/network_text.h"

/* Turns the tables of /proc/net into counter tracks. */

/* The existing network interfaces. Each pass finds them again in the lines of /proc/net/dev. */

/* Limit of interfaces; further ones are skipped and counted as errors. */
#define NETWORK_LINKS_MAX 4096

struct network_link;
TAILQ_HEAD(network_link_list, network_link);

/* Zero-initialise, then network_links_init. */
struct network_links {
	struct polled_source *poll; /* borrowed */
	uint32_t group; /* parent of their tracks */
	struct counter_patterns only; /* owned; if empty, all are selected */
	struct counter_patterns
		except; /* owned; if the list was truncated, no interface is selected */
	struct counter_keys keys; /* the owner initialises it */
	struct network_columns columns;
	struct network_link_list list;
	struct network_link *last; /* the last interface that this pass found, or NULL */
	uint32_t n;
	bool limit_logged;
};

void network_links_init(struct network_links *l, struct polled_source *poll, uint32_t group);
void network_links_deinit(struct network_links *l);

/* Each pass calls begin, which parses the heading and cuts it off the text; then line for each
 * line; then, if the text was complete, end, which removes the interfaces that were not listed.
 * begin and line return 0 or -EBADMSG. */
int network_links_begin(struct network_links *l, struct span *text);
int network_links_parse_line(struct network_links *l, struct span line);
void network_links_end(struct network_links *l);

/*
 * The protocols of /proc/net/snmp, snmp6 and netstat ("Tcp", "Ip6", "TcpExt"): a group of counters
 * each.
 */

#define NETWORK_PROTOCOLS_MAX 64
#define NETWORK_PROTOCOL_SIZE 32 /* size of a name, with the NUL */

struct network_protocol {
	char name[NETWORK_PROTOCOL_SIZE];
	const struct counter_patterns *counters; /* borrowed */
	uint32_t track;
	struct counter_keys keys;
	struct counter_tracks tracks;
};

/* The owner sets the first three fields; the rest is zero-initialised. */
struct network_protocols {
	struct polled_source *poll; /* borrowed */
	const struct counter_patterns *counters; /* borrowed */
	uint32_t group; /* parent of their tracks */
	struct network_protocol *all[NETWORK_PROTOCOLS_MAX]; /* owned */
	unsigned n;
};

void network_protocols_deinit(struct network_protocols *ps);

/* Reads a whole file. Returns 0, or -EBADMSG if a part of it was skipped. */
int network_protocols_read(struct network_protocols *ps, struct span text);
/* Like network_protocols_read(), for snmp6, which has one number in each line. */
int network_protocols_read_snmp6(struct network_protocols *ps, struct span text);
