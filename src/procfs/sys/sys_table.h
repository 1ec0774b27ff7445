/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/text/str.h"
#include "procfs/sys/sys_packet.h"

/*
 * A file of lines "name value" (/proc/vmstat) or "name: value kB" (/proc/meminfo), of which some
 * names have a number in SysStats. The order of the lines does not change while the kernel runs: a
 * poll takes what it learnt of the line at that place, and looks again where the name is another.
 */

/* A file of more lines has its rest left out. */
#define SYS_TABLE_LINES_MAX 4096
#define SYS_TABLE_NUMBERS 256

struct sys_table_line {
	uint32_t name_at; /* in names */
	uint16_t name_len;
	uint16_t number; /* 0: none, or not wanted */
	uint32_t extra; /* SYS_EXTRA_NONE: none, or not wanted */
};

struct sys_table {
	uint32_t field; /* of SysStats: repeated {key = 1, value = 2} */
	uint32_t (*number_of)(struct span name); /* 0: there is none */
	bool (*is_total)(struct span name); /* of a counter without a number: it only grows */
	bool all; /* also what has no number */
	uint32_t group; /* of those */
	uint64_t wanted[SYS_TABLE_NUMBERS / 64];
	struct strbuf names;
	struct sys_table_line *lines; /* owned */
	size_t n, cap;
};

/* Which numbers are wanted: those that are listed and in numbers; none listed: all. Says which are
 * unknown. file is its name, for people and for the group. */
void sys_table_choose(struct sys_table *t, struct sys_poll *p, const char *file,
		      const ProtobufCEnumDescriptor *numbers, const int *listed, size_t n);
void sys_table_deinit(struct sys_table *t);

/* 0, or -EBADMSG: there are lines that are no name and value, or no line at all. */
int sys_table_parse(struct sys_table *t, struct sys_poll *p, struct span text);
