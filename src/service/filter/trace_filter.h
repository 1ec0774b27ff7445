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
 * TraceConfig.trace_filter of one session, applied to every packet that is read, except the
 * statistics. A packet without remaining fields becomes an empty packet, so the number of
 * packets does not change. A packet that cannot be filtered is dropped and counted.
 *
 * Memory is allocated only for a packet that is larger than all earlier ones.
 */
struct trace_filter;

/* Creates the filter of the config; sets *ret to NULL if it has none. Returns 0, -ENOMEM or -EINVAL
 * and sets e. */
int trace_filter_new(const Pb__TraceConfig *config, struct err_text *e, struct trace_filter **ret);
/* No-op for NULL. */
void trace_filter_free(struct trace_filter *f);

/* Filters a packet of the service in place and passes it to the sink, or drops it if it cannot be
 * filtered. f NULL: passes it unchanged. */
void trace_filter_pass_service_packet(struct trace_filter *f, struct packet_sink *sink,
				      uint8_t *packet, size_t len);

/* Counts a packet that bypasses the filter: adds bytes (may be negative, to correct) to input and
 * output. */
void trace_filter_count_unfiltered(struct trace_filter *f, int64_t bytes);

/* A producer's packet: the slices of a valid message, and the fields to append. */
struct trace_filter_input {
	const struct iovec *slices;
	size_t n_slices, size; /* number and bytes of all slices */
	const uint8_t *trailer;
	size_t trailer_len;
	size_t buffer; /* index, for the statistics */
};

/* Filters a packet and its trailer. Returns 0 and the result, borrowed until the next call; or
 * -errno if the packet must be dropped. */
int trace_filter_apply(struct trace_filter *f, const struct trace_filter_input *in,
		       const uint8_t **ret_packet, size_t *ret_len);

/* Returns the cost of regular expressions since the last call, as a number of bytes of unfiltered
 * packets: the reader subtracts it from the batch. */
size_t trace_filter_extra_work(struct trace_filter *f);

/* Writes the fields of a FilterStats. */
void trace_filter_put_stats(const struct trace_filter *f, struct pb_enc *e);
