/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "config/trace_config.pb-c.h"

/* Joins the slices of a packet. A packet of one slice is not copied. */

#define PACKET_JOIN_MAX (1u << 28) /* bytes of a packet: the limit of the protocol */

/* Zero-initialise; packet_read_deinit frees. */
struct packet_join {
	uint8_t *buf; /* owned: the slices so far */
	size_t len;
	size_t cap;
};

/* Returns true if a packet has started and not ended. */
static inline bool packet_join_is_inside(const struct packet_join *j)
{
	return j->len != 0;
}

struct consumer;

/* Reads the session of a consumer, packet by packet. */

struct packet_read_ops {
	/* Data arrived, possibly a part of a packet. */
	void (*on_sign)(void *ctx);
	/* A whole packet, borrowed during the call. A return value other than 0 ends
	 * reading with this error. */
	int (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* The last call. error 0: everything was read; else -errno, -EPROTO for an incomplete
	 * packet. */
	void (*on_end)(void *ctx, int error);
};

/* Embedded by its owner; zero-initialise, packet_read_deinit frees. */
struct packet_read {
	const struct packet_read_ops *ops; /* borrowed from the owner */
	void *ctx;
	struct packet_join join;
	bool over;
};

/* Starts reading. Returns 0, or the error of consumer_read(); then nothing is called. */
int packet_read_start(struct packet_read *r, struct consumer *consumer,
		      const struct packet_read_ops *ops, void *ctx);
/* Free the consumer first. */
void packet_read_deinit(struct packet_read *r);

/* Scans a trace file that the service has written, from its beginning. Returns 0; -ESPIPE if it is
 * not a regular file (nothing is set); -EBADMSG if it ends within a packet or is not a trace;
 * -EFBIG for a packet above the limit; -ENOMEM or -errno of reading. On failure scan and *ret_bytes
 * cover the packets before it. */
int trace_readback_scan(int fd, struct trace_scan *scan, uint64_t *ret_bytes);

struct trace_file;

/* Flushes f. If a write to f has failed, replaces scan, which covers all packets, with a scan of
 * the packets in the file. The session's data in `scan` stays: its times, statistics and config.
 * Call it before trace_file_save(). */
void trace_readback_rescan(struct trace_file *f, struct trace_scan *scan);

/* Scans the first packets of a trace that is still being written, until about max bytes of the file
 * are read. Best effort. */
void trace_readback_peek(int fd, uint64_t max, struct trace_scan *scan);

/* Like trace_readback_scan(), over the files of a session with rotate as one trace; ret_first is
 * the path of the file with the lowest number. The session is that of the file that was written
 * last; files of other sessions (by uuid) are skipped. Returns -ENOENT if there are no files. */
int trace_readback_scan_files(const Pb__TraceConfig *config, struct trace_scan *scan,
			      uint64_t *ret_bytes, char ret_first[PATH_MAX]);

/* Writes to buf what the service created, for the user: output_path, or with rotate "FIRST
 * and the following files". first: the path of the first file of the series; "": the path with number 1. */
void trace_readback_get_output_name(const Pb__TraceConfig *config, const char *first, char *buf,
				    size_t size);
