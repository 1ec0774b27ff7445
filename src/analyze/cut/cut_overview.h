/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* Which parts of a trace get a packet. */
enum cut_kind {
	CUT_NOTHING, /* none: it only has state of its sequence, or marks a place in the file */
	CUT_EVENT, /* the part of its time */
	CUT_BUNDLE, /* kernel events: for each event the part of its time */
	CUT_STATE, /* all parts: the config, the machine, tracks */
	CUT_PROCESS_TREE, /* the part of its time, those after it, and those shortly before it */
	/* Clock snapshots. The first one goes into all parts, each other one into the part of its
	 * time. Each part also begins with the last snapshot before it. */
	CUT_SNAPSHOT,
};

enum cut_kind cut_classify_packet(const struct cut_packet *c);

/* Returns true if packets with equal payloads count as duplicates only if their times are equal as
 * well. */
bool cut_has_own_time(uint32_t payload);

/*
 * The first pass over a trace that is to be cut: the times of its first and last event, and how
 * many bytes each part of that time has.
 */

#define CUT_BUCKETS 16384u

struct cut_overview {
	struct cut_reader reader; /* has all clocks after the pass */
	int64_t started; /* tracing start: earlier kernel events are ignored; INT64_MIN: unknown */
	int64_t start, end; /* of the events; start > end: there are none */
	int64_t width, base; /* bucket i: bytes of [(base + i) * width, (base + i + 1) * width) */
	uint64_t bytes[CUT_BUCKETS];
	uint64_t state_bytes; /* size of the packets that each part gets */
};

/* Reads a trace as cut_reader_run(), and returns the same. Deinit in either case. */
int cut_overview_read(struct cut_overview *o, const uint8_t *data, size_t len, bool mapped);
/* Returns why a trace with this overview cannot be cut, or NULL. */
const char *cut_overview_refusal(const struct cut_overview *o);
void cut_overview_deinit(struct cut_overview *o);
