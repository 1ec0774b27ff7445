/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * What `sonda record --host` on this machine and the agent on the other one send each other through
 * ssh: frames of a type, a length in 4 bytes (little-endian), and data.
 *
 *	this machine                           the agent
 *	          <--- HOST_HELLO ------------
 *	          ---- HOST_PING ------------>          some before the recording, for the clocks;
 *	          <--- HOST_PONG -------------          then one every few seconds
 *	          ---- HOST_REQUEST --------->          starts the recording
 *	          <--- HOST_TRACE, _OUT, _ERR
 *	          ---- HOST_SIGNAL ---------->
 *	          <--- HOST_EXIT -------------          nothing follows
 *
 * Both sides treat the other one's bytes as untrusted.
 */

enum host_frame_type {
	HOST_HELLO = 'H', /* u32 user id of the agent */
	HOST_PING = 'p', /* u64 that the agent returns */
	HOST_PONG = 'P', /* this number; u64 CLOCK_BOOTTIME, u64 CLOCK_REALTIME of the agent */
	HOST_REQUEST = 'R', /* struct host_request */
	HOST_TRACE = 'T', /* bytes of the trace */
	HOST_OUT = 'O', /* bytes of the recording's standard output, which is COMMAND's too */
	HOST_ERR = 'E', /* the same for standard error */
	HOST_SIGNAL = 'S', /* u32 number of a signal for the recording */
	HOST_EXIT = 'X', /* u32 exit code; u32 1 if the trace is to be discarded, else 0 */
};

#define HOST_FRAME_HEAD 5
#define HOST_FRAME_MAX (4u << 20) /* bytes of data */

struct host_frame {
	uint8_t type;
	const uint8_t *data; /* a view */
	size_t len;
};

/* Finds the frame at the beginning of the bytes. Returns its size with its head, 0 if it is
 * incomplete, or -EBADMSG if it is too long. */
ssize_t host_frame_decode(const uint8_t *bytes, size_t len, struct host_frame *ret);
void host_frame_put(struct strbuf *to, enum host_frame_type type, const void *data, size_t len);

/* Frames whose data is n numbers: at most 2 of 32 bits or 3 of 64 bits can be put. The functions
 * that read return false if the data has another length. */
void host_frame_put_u32(struct strbuf *to, enum host_frame_type type, const uint32_t *v, size_t n);
void host_frame_put_u64(struct strbuf *to, enum host_frame_type type, const uint64_t *v, size_t n);
bool host_frame_u32(const struct host_frame *f, uint32_t *ret_v, size_t n);
bool host_frame_u64(const struct host_frame *f, uint64_t *ret_v, size_t n);

/* What the agent records. */
struct host_request {
	char **argv; /* of sonda record, as the user typed it; ends with NULL */
	int argc;
	const char *output; /* the name of the trace for messages */
	bool is_one_of_several; /* the trace will be merged with others */
	bool has_color; /* messages are shown where "--color auto" means colours */
	bool has_config; /* config is the file of -c */
	const char *config; /* not NUL-terminated */
	size_t config_len;
};

/* Appends the frame, or sets to->failed. Returns 0, or -E2BIG if it has too many arguments or would
 * be larger than HOST_FRAME_MAX. */
int host_request_put(struct strbuf *to, const struct host_request *r);
/* The strings are views into data. The caller frees ret->argv, with free(3). Returns 0, -EBADMSG or
 * -ENOMEM. */
int host_request_decode(const uint8_t *data, size_t len, struct host_request *ret);

/* A connection: what was received and not used yet, and what is to be sent. The descriptors do not
 * block. Zero-initialise; host_stream_deinit frees, and leaves the descriptors open. */
struct host_stream {
	int in, out; /* borrowed */
	struct strbuf received;
	size_t used; /* bytes of `received` that are not needed any more */
	struct strbuf to_send;
	size_t sent; /* bytes of to_send */
};

void host_stream_deinit(struct host_stream *s);
/* Reads once. Returns 1, 0 at the end of the stream, or -errno; 1 also if nothing was there. */
int host_stream_receive(struct host_stream *s);
/* Writes what the connection accepts. Returns 0; -ENOMEM if to_send has failed; or -errno. */
int host_stream_send(struct host_stream *s);
/* Returns how many bytes wait to be sent. */
static inline size_t host_stream_waiting(const struct host_stream *s)
{
	return s->to_send.len - s->sent;
}
/* Returns 1 with the next frame, which is valid until the next call that receives; 0 if it is
 * incomplete; or -EBADMSG. */
int host_stream_next_frame(struct host_stream *s, struct host_frame *ret);
/* Returns the next line, without its end, as long as host_stream_next_frame() would; NULL if it is
 * incomplete. */
const char *host_stream_next_line(struct host_stream *s);
