/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Puts records of several rings into the order of time. perf writes the rings one after another, in
 * rounds; a record that is older than all of the round before last can no longer come.
 *
 *	record_queue_add        a copy of the record
 *	record_queue_end_round  calls take() for the records up to the end of the round before
 *	record_queue_end        calls take() for the rest
 */
#define RECORD_QUEUE_BYTES_MAX (1u << 30) /* then the remaining records are delivered early */

struct queued_record {
	uint64_t time;
	size_t at; /* in bytes */
	uint32_t len;
};

struct record_queue {
	struct queued_record *records; /* owned */
	size_t n, cap;
	uint8_t *bytes; /* owned */
	size_t n_bytes, bytes_cap;
	uint64_t newest, round_end; /* times */
	void (*take)(void *ctx, uint64_t time, const uint8_t *record, size_t len);
	void *ctx;
};

void record_queue_deinit(struct record_queue *q);
/* Returns 0, -ENOMEM, or 1 if records had to be delivered early. */
int record_queue_add(struct record_queue *q, uint64_t time, const uint8_t *record, size_t len);
void record_queue_end_round(struct record_queue *q);
void record_queue_end(struct record_queue *q);
