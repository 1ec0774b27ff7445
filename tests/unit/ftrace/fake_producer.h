/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/producer/data_source.h"
#include "unit/ftrace/fake_writer.h"

/* The producer's side of one data source: hands out one writer and counts the answers. */
struct ds_handle {
	struct writer *writer; /* the source's, while it lives */
	size_t range; /* of the writer */
	uint64_t session_id;
	uint32_t consumer_uid; /* 0: root */
	unsigned started;
	unsigned stopped;
	unsigned flushed;
	uint64_t last_flush;
	bool stop_follows; /* the flushes */
	void (*on_answer)(struct ds_handle *h); /* after each, when set */
};

static inline void fake_answer(struct ds_handle *h)
{
	if (h->on_answer)
		h->on_answer(h);
}

void ds_started(struct ds_handle *h)
{
	h->started++;
	fake_answer(h);
}

void ds_flushed(struct ds_handle *h, uint64_t flush_id)
{
	h->flushed++;
	h->last_flush = flush_id;
	fake_answer(h);
}

void ds_stopped(struct ds_handle *h)
{
	h->stopped++;
	fake_answer(h);
}

bool ds_flush_precedes_stop(const struct ds_handle *h)
{
	return h->stop_follows;
}

uint32_t ds_consumer_uid(const struct ds_handle *h)
{
	return h->consumer_uid;
}

void ds_yield_to_root(const struct ds_handle *h, struct event *e)
{
}

uint64_t ds_session_id(const struct ds_handle *h)
{
	return h->session_id;
}

struct writer *ds_writer_new(struct ds_handle *h)
{
	h->writer = fake_writer_new(h->range ? h->range : 32760);
	return h->writer;
}
