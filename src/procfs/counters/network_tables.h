/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/counters/counter_number.h"
#include "procfs/counters/counter_files.h"
#include "client/counters/counter_poll.h"

/*
 * The tables of /proc/net. Each gives 0, or -EBADMSG: something was left out that is not in the
 * format.
 */

/* Columns of /proc/net/dev, as its heading names them: "rx bytes", "tx drop". */
#define NETWORK_COLUMNS_MAX 32
#define NETWORK_COLUMN_SIZE 32

struct network_columns {
	char names[NETWORK_COLUMNS_MAX][NETWORK_COLUMN_SIZE];
	unsigned n;
};

/* The two lines of the heading, cut off the text:  " face |bytes packets ...|bytes packets ..." */
int network_columns_parse(struct span *text, struct network_columns *ret);

/* A line "  eth0: 1 2 3 ..." (before 2.6.39 without the blank): *ret_name, then each number by its
 * column. Names have no colon and no blank; any other byte may be in them. */
int network_dev_name(struct span *line, struct span *ret_name);
int network_dev_parse(struct span line, const struct network_columns *columns, counter_number_fn fn,
		      void *ctx);

/*
 * Pairs of lines as in /proc/net/snmp and netstat, in which the second has the numbers of the
 * first's names. Takes the next pair off the text; false: there is none. *ret_protocol is "Tcp".
 */
struct network_pair {
	struct span protocol;
	struct span names;
	struct span values;
};
bool network_pair_next(struct span *text, struct network_pair *ret);
int network_pair_parse(struct network_pair pair, counter_number_fn fn, void *ctx);

/* A line "Ip6InReceives   12" of /proc/net/snmp6: *ret_protocol is "Ip6". 0 or -EBADMSG. */
int network_snmp6_parse(struct span line, struct span *ret_protocol, struct span *ret_name,
			struct counter_number *ret_v);

/* The interfaces that there are: found anew in each pass, in the lines of /proc/net/dev. */

/* Recorded at a time; further ones are left out and counted as failed. */
#define NETWORK_LINKS_MAX 4096

struct network_link;
TAILQ_HEAD(network_link_list, network_link);

/* Zero-initialise, then network_links_init. */
struct network_links {
	struct counter_poll *poll; /* borrowed */
	uint32_t group; /* the track that theirs stand under */
	struct counter_patterns only; /* owned; none given: all */
	struct counter_patterns except; /* owned; some left out: no interface is recorded */
	struct counter_keys keys; /* the owner sets what it is made with */
	struct network_columns columns;
	struct network_link_list list;
	struct network_link *last; /* that this pass found, or NULL */
	uint32_t n;
	bool said_crowded;
};

void network_links_init(struct network_links *l, struct counter_poll *poll, uint32_t group);
void network_links_deinit(struct network_links *l);

/* In each pass: the heading, cut off the text; then each line; then the end, at which interfaces
 * that were not among them end. 0 or -EBADMSG. */
int network_links_begin(struct network_links *l, struct span *text);
int network_links_line(struct network_links *l, struct span line);
void network_links_end(struct network_links *l);

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
