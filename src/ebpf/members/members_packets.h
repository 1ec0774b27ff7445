/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/members.h"
#include "client/transport/writer.h"
#include "ebpf/members/members_groups.h"

/* The packets CgroupMembers and CgroupTree of linux.cgroup_members. Rows are collected until a
 * packet is full. */
#define MEMBERS_ROWS_EACH 4096 /* rows of a packet */
#define MEMBERS_GROUPS_EACH 64 /* groups of a packet */

struct members_packets {
	struct writer *writer; /* borrowed, as is groups */
	struct member_groups *groups;
	struct member_row *rows; /* owned; group is the index in ids */
	uint64_t *ids; /* owned: group_ids of the packet */
	uint32_t n, n_ids;
	uint32_t packet; /* the number of this packet, from 1 */
	bool is_initial; /* of the rows of this packet */
	bool hides_names; /* those from the files of runtimes; set by the caller after the init */
	uint64_t refused; /* rows of groups above the limit */
};

/* Returns 0 or -ENOMEM. Call deinit in either case. */
int members_packets_init(struct members_packets *p, struct writer *w, struct member_groups *g);
void members_packets_deinit(struct members_packets *p);
/* Adds a row to the packet, which is written first if it is full or its rows differ in is_initial.
 * A row whose group is refused is left out and counted. */
void members_packets_add_row(struct members_packets *p, const struct member_row *row,
			     bool is_initial);
/* Writes the collected rows. */
void members_packets_end(struct members_packets *p);
/* Writes up to MEMBERS_GROUPS_EACH groups that were not written yet. Returns false if there were
 * none. */
bool members_packets_write_groups(struct members_packets *p);
/* Writes what was lost, and why the rows are polled (NULL: they are not). */
void members_packets_write_stats(struct members_packets *p, uint64_t lost,
				 const char *polled_because, uint32_t poll_ms);
