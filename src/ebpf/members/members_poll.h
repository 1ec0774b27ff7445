/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text/span.h"
#include "ebpf/members/members_packets.h"

/* Passes over /proc/PID/cgroup of all processes, without a BPF program: rows of whole processes.
 * Zero-initialise. */
struct members_poll {
	const char *proc_root; /* borrowed */
	DIR *dir; /* owned; NULL: no pass is in progress */
	uint64_t began, took; /* of the last pass, CLOCK_MONOTONIC, ns */
};

/* Begins a pass. */
void members_poll_begin(struct members_poll *p);
/* Reads one process. Returns false at the end of the pass. */
bool members_poll_step(struct members_poll *p, struct members_packets *to);
void members_poll_deinit(struct members_poll *p);

/* Finds the group of version 2 in the text of /proc/PID/cgroup. Returns false if there is none;
 * else *ret is its path in text, without the mark of a removed group. */
bool members_poll_parse(struct span text, struct span *ret);
