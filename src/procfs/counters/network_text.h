/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/span.h"
#include "client/counters/counter_number.h"

/* Parsers of the files of /proc/net. Each returns 0, or -EBADMSG if the text has another format. */

/* Columns of /proc/net/dev, named by its heading: "rx bytes", "tx drop". */
#define NETWORK_COLUMNS_MAX 32
#define NETWORK_COLUMN_SIZE 32

struct network_columns {
	char names[NETWORK_COLUMNS_MAX][NETWORK_COLUMN_SIZE];
	unsigned n;
};

/* Parses the heading of /proc/net/dev (two lines) and cuts it off the text:
 * " face |bytes packets ...|bytes packets ..." */
int network_columns_parse(struct span *text, struct network_columns *ret);
/* Parse a line " eth0: 1 2 3 ..." (before 2.6.39 without the blank): network_dev_cut_name() cuts
 * off the name, network_dev_parse() calls fn for each number with its column. Names have no colon
 * and no blank, but may have any other byte. */
int network_dev_cut_name(struct span *line, struct span *ret_name);
int network_dev_parse(struct span line, const struct network_columns *columns, counter_number_fn fn,
		      void *ctx);

/* A pair of lines of /proc/net/snmp or netstat: the first has the names, the second the numbers.
 * protocol is, for example, "Tcp". */
struct network_pair {
	struct span protocol;
	struct span names;
	struct span values;
};

/* Cuts the next pair off the text. Returns false at its end. */
bool network_pair_next(struct span *text, struct network_pair *ret);
/* Calls fn for each number with its name. */
int network_pair_parse(struct network_pair pair, counter_number_fn fn, void *ctx);

/* Parses a line "Ip6InReceives 12" of /proc/net/snmp6; *ret_protocol is "Ip6". */
int network_snmp6_parse(struct span line, struct span *ret_protocol, struct span *ret_name,
			struct counter_number *ret_v);
