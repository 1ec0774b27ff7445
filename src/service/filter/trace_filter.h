/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

struct packet_sink;
struct pb_enc;

/*
 * TraceConfig.trace_filter of one session: what every packet goes through on its way out, but for
 * the statistics. A packet of which nothing is left goes on with no bytes, so that their number
 * stays; one that cannot be filtered is dropped and counted.
 *
 * Nothing is allocated for a packet, unless it is larger than all before.
 */
struct trace_filter;

/* Of the config; *ret NULL: it has none. 0; -ENOMEM or -EINVAL with the reason in e. */
int trace_filter_new(const Pb__TraceConfig *config, struct err_text *e, struct trace_filter **ret);
/* NULL is fine. */
void trace_filter_free(struct trace_filter *f);

/* Hands a packet of the service's own on to the sink; it is changed in place. f NULL: as it is. */
void trace_filter_put(struct trace_filter *f, struct packet_sink *sink, uint8_t *packet,
		      size_t len);

/* A packet passes the filter unchanged: so many bytes more of input and output (below 0: fewer than were
 * counted before). */
void trace_filter_count_unfiltered(struct trace_filter *f, int64_t bytes);

/* A producer's packet: slices of one message that was found whole, and the fields to append. */
struct trace_filter_input {
	const struct iovec *slices;
	size_t n_slices, size; /* of all slices */
	const uint8_t *trailer;
	size_t trailer_len;
	size_t buffer; /* index, for the statistics */
};

/* 0, with what is left of it: borrowed until the next call. -errno: it must be dropped. */
int trace_filter_apply(struct trace_filter *f, const struct trace_filter_input *in,
		       const uint8_t **ret_packet, size_t *ret_len);

/* How many bytes more of plain packets would have taken as long as the regular expressions did since
 * it was asked last: for who reads so many bytes a turn. */
size_t trace_filter_extra_work(struct trace_filter *f);

/* Writes the fields of a FilterStats. */
void trace_filter_put_stats(const struct trace_filter *f, struct pb_enc *e);
