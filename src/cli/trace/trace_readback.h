/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "config/trace_config.pb-c.h"

/* Puts the slices of a packet together. A packet that came in one slice is not copied. */

#define PACKET_JOIN_MAX (1u << 28) /* bytes of a packet: what the protocol can carry */

/* Zero-initialise; packet_join_deinit frees. */
struct packet_join {
	uint8_t *buf; /* owned: the slices so far */
	size_t len;
	size_t cap;
};

/* Is a packet begun and not ended? */
static inline bool packet_join_is_inside(const struct packet_join *j)
{
	return j->len != 0;
}

struct consumer;

/* Reads the session of a consumer, packet by packet. */

struct packet_read_ops {
	/* Something came, maybe a part of a packet. */
	void (*on_sign)(void *ctx);
	/* A whole packet, borrowed during the call. Anything but 0 ends the reading with it. */
	int (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* The last call. 0: all of it was read; else -errno, -EPROTO where a packet has no end. */
	void (*on_end)(void *ctx, int error);
};

/* Embedded by its owner; zero-initialise, packet_read_deinit frees. */
struct packet_read {
	const struct packet_read_ops *ops; /* borrowed from the owner */
	void *ctx;
	struct packet_join join;
	bool over;
};

/* One after the other. 0, or as consumer_read has it, when nothing is called. */
int packet_read_start(struct packet_read *r, struct consumer *consumer,
		      const struct packet_read_ops *ops, void *ctx);
/* The consumer is gone before. */
void packet_read_deinit(struct packet_read *r);

/* A trace that the service has written into a file, looked at for the summary, from its beginning, a
 * packet at a time. 0; -ESPIPE it is not a regular file, and nothing is set; -EBADMSG it ends within a
 * packet, or is not a trace, -EFBIG one of its packets is larger than any can be, -ENOMEM or -errno of
 * reading: scan and *ret_bytes are of what came before. */
int written_trace_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes);

/* The same of the files that a session with rotate has left, as one trace; in *ret_files how many. Those
 * of other sessions under the same names are known by their uuid and left out. -ENOENT: there are none. */
int written_trace_scan_files(const Pb__TraceConfig *config, struct trace_scan *scan,
			     uint64_t *ret_bytes, size_t *ret_files);

/* What the user finds it under, when the service made the file: output_path, or, of a row of them,
 * the first name that it may have. */
void written_trace_name(const Pb__TraceConfig *config, char *buf, size_t size);
