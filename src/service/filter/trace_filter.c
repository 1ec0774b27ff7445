/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet is filtered into f->out, followed by its filtered trailer: concatenated messages are one
 * message with the fields of both. A packet in several slices is copied to f->out first and
 * filtered in place.
 *
 *	slice   ====================== ======	copied first if there are several
 *	trailer ===
 *	out     ========== ==			filtered
 */
#include "service/filter/trace_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "service/filter/filter_bytecode.h"
#include "service/filter/filter_message.h"
#include "service/filter/filter_strings.h"
#include "service/filter/packet_sink.h"
#include "service/ipc/limits.h"
#include "wire/pb_enc.h"

#define KEPT_BYTES (1u << 20) /* f->out is freed if it is larger and the next packet is not */
#define STEPS_PER_BYTE 8 /* steps of expressions that take as long as a byte of a packet */
/* Only one of TIMED_EVERY packets below SMALL_BYTES is timed: reading the clock costs as much as
 * filtering such a packet. */
#define SMALL_BYTES 2048u
#define TIMED_EVERY 16u

struct trace_filter {
	struct filter_bytecode *code; /* owned, as the rest */
	struct filter_strings *strings;
	uint8_t *out;
	size_t cap_out;
	uint64_t steps; /* steps of expressions since trace_filter_extra_work() */

	/* statistics */
	uint64_t packets, input_bytes, output_bytes, errors, time_ns, small_packets;
	uint64_t *discarded; /* bytes; by buffer */
	size_t n_buffers;
};

/* ---- packets ---- */

/* Filters a message into out, and counts the steps of its expressions. Returns as
 * filter_message(). */
static int filter_packet_bytes(struct trace_filter *f, const uint8_t *in, size_t len, uint8_t *out,
			       size_t *ret_len)
{
	uint64_t budget = MAX_FILTER_STEPS;
	int r = filter_message(f->code, f->strings, in, len, out, ret_len, &budget);

	f->steps += MAX_FILTER_STEPS - budget;
	return r;
}

struct timing {
	uint64_t begin_ns;
	uint64_t weight; /* number of packets that this one stands for; 0: it is not timed */
};

static struct timing begin_timing_of_packet(struct trace_filter *f, size_t size)
{
	struct timing t = {.weight = 1};

	if (size < SMALL_BYTES)
		t.weight = f->small_packets++ % TIMED_EVERY == 0 ? TIMED_EVERY : 0;
	if (t.weight)
		t.begin_ns = clock_mono_ns();
	return t;
}

static void trace_filter_count(struct trace_filter *f, int r, size_t in, size_t out,
			       struct timing t)
{
	if (t.weight)
		f->time_ns += (clock_mono_ns() - t.begin_ns) * t.weight;
	f->packets++;
	f->input_bytes += in;
	if (r < 0)
		f->errors++;
	else
		f->output_bytes += out;
}

void trace_filter_pass_service_packet(struct trace_filter *f, struct packet_sink *sink,
				      uint8_t *packet, size_t len)
{
	if (f) {
		struct timing t = begin_timing_of_packet(f, len);
		size_t left = 0;
		int r = filter_packet_bytes(f, packet, len, packet, &left);

		trace_filter_count(f, r, len, left, t);
		if (r < 0)
			return;
		len = left;
	}
	sink->begin(sink, len);
	sink->bytes(sink, packet, len);
}

void trace_filter_count_unfiltered(struct trace_filter *f, int64_t bytes)
{
	f->input_bytes += (uint64_t)bytes;
	f->output_bytes += (uint64_t)bytes;
}

static int trace_filter_make_room(struct trace_filter *f, size_t need)
{
	if (f->cap_out > KEPT_BYTES && need <= KEPT_BYTES) {
		free(TAKE_PTR(f->out));
		f->cap_out = 0;
	}
	return array_reserve(&f->out, &f->cap_out, need, 1);
}

static int filter_slices(struct trace_filter *f, const struct trace_filter_input *in,
			 size_t *ret_len)
{
	size_t used = 0;

	if (in->n_slices == 1)
		return filter_packet_bytes(f, in->slices[0].iov_base, in->size, f->out, ret_len);
	for (size_t i = 0; i < in->n_slices; i++) {
		memcpy(f->out + used, in->slices[i].iov_base, in->slices[i].iov_len);
		used += in->slices[i].iov_len;
	}
	return filter_packet_bytes(f, f->out, used, f->out, ret_len);
}

static int filter_packet(struct trace_filter *f, const struct trace_filter_input *in,
			 size_t *ret_len)
{
	size_t len = 0, trailer_len = 0;
	int r = trace_filter_make_room(f, in->size + in->trailer_len);

	if (r == 0)
		r = filter_slices(f, in, &len);
	if (r == 0)
		r = filter_packet_bytes(f, in->trailer, in->trailer_len, f->out + len,
					&trailer_len);
	if (r == 0)
		*ret_len = len + trailer_len;
	return r;
}

int trace_filter_apply(struct trace_filter *f, const struct trace_filter_input *in,
		       const uint8_t **ret_packet, size_t *ret_len)
{
	size_t whole = in->size + in->trailer_len, len = 0;
	struct timing t = begin_timing_of_packet(f, whole);
	int r = filter_packet(f, in, &len);

	trace_filter_count(f, r, whole, len, t);
	if (in->buffer < f->n_buffers)
		f->discarded[in->buffer] += whole - len;
	if (r < 0)
		return r;
	*ret_packet = f->out;
	*ret_len = len;
	return 0;
}

size_t trace_filter_extra_work(struct trace_filter *f)
{
	size_t bytes = (size_t)(f->steps / STEPS_PER_BYTE);

	f->steps = 0;
	return bytes;
}

void trace_filter_put_stats(const struct trace_filter *f, struct pb_enc *e)
{
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_INPUT_PACKETS, f->packets);
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_INPUT_BYTES, f->input_bytes);
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_OUTPUT_BYTES, f->output_bytes);
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_ERRORS, f->errors);
	pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_TIME_TAKEN_NS, f->time_ns);
	for (size_t i = 0; i < f->n_buffers; i++)
		pb_enc_u64(e, PB_TRACE_STATS_FILTER_STATS_BYTES_DISCARDED_PER_BUFFER,
			   f->discarded[i]);
}

/* ---- life ---- */

static int load_code_and_rules(struct trace_filter *f, const Pb__TraceConfig__TraceFilter *c,
			       struct err_text *e)
{
	const ProtobufCBinaryData *code = c->bytecode_v2.len ? &c->bytecode_v2 : &c->bytecode;
	struct err_text why;
	int r = filter_bytecode_new(code->data, code->len, c->bytecode_overlay_v54.data,
				    c->bytecode_overlay_v54.len, &why, &f->code);

	if (r < 0)
		return err_set(e, r, "trace_filter bytecode: %s", why.text);
	r = filter_strings_new(c->string_filter_chain, c->string_filter_chain_v54, &why,
			       &f->strings);
	return r < 0 ? err_set(e, r, "trace_filter: %s", why.text) : 0;
}

int trace_filter_new(const Pb__TraceConfig *config, struct err_text *e, struct trace_filter **ret)
{
	struct trace_filter *f;
	int r;

	if (!config->trace_filter) {
		*ret = NULL;
		return 0;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	f->n_buffers = config->n_buffers;
	f->discarded = calloc(f->n_buffers + 1, sizeof(*f->discarded));
	r = f->discarded ? load_code_and_rules(f, config->trace_filter, e)
			 : err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		trace_filter_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void trace_filter_free(struct trace_filter *f)
{
	if (!f)
		return;
	filter_bytecode_free(f->code);
	filter_strings_free(f->strings);
	free(f->discarded);
	free(f->out);
	free(f);
}
