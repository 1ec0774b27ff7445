/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "procfs/counters/counter_files.h"
#include "client/counters/counter_patterns.h"
#include "client/counters/counter_poll.h"
#include "procfs/counters/network_text.h"

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
