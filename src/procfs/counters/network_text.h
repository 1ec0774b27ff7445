/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/counters/counter_number.h"

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
