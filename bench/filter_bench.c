/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "config/text.h"
#include "service/filter/packet_validate.h"
#include "service/filter/trace_filter.h"
#include "wire/pb_dec.h"

/*
 * What a trace filter costs.
 *
 * usage: filter_bench TRACE CONFIG [ROUNDS]
 *
 * The packets of a trace that is not compressed go through the trace_filter of a config (text), as
 * often as ROUNDS says (default 20). The columns are, of the best round, nanoseconds for each
 * megabyte of packets, and what is left of them:
 *
 *   copy     memcpy alone
 *   gate     packet_is_valid, which every packet of a producer passes
 *   filter   trace_filter_apply
 */

struct packets {
	struct iovec *list;
	size_t n, cap, bytes, largest;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The whole file; gives its length. */
static uint8_t *slurp(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	size_t len = 0, cap = 0, n;
	uint8_t *data = NULL;

	if (!f) {
		perror(path);
		exit(1);
	}
	do {
		if (array_reserve(&data, &cap, len + (1u << 20), 1) < 0)
			abort();
		n = fread(data + len, 1, cap - len - 1, f);
		len += n;
	} while (n > 0);
	data[len] = '\0';
	fclose(f);
	*ret_len = len;
	return data;
}

static struct packets read_packets(const uint8_t *trace, size_t len)
{
	struct packets p = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, trace, len);
	while (pb_dec_next(&d, &f)) {
		if (array_reserve(&p.list, &p.cap, p.n + 1, sizeof(*p.list)) < 0)
			abort();
		p.list[p.n++] = (struct iovec){(void *)f.data, f.len};
		p.bytes += f.len;
		p.largest = MAX(p.largest, f.len);
	}
	return p;
}

static struct trace_filter *read_filter(const char *path)
{
	struct strbuf errors = {0};
	struct trace_filter *f;
	ProtobufCMessage *m;
	struct err_text e;
	size_t len;
	char *text = (char *)slurp(path, &len);

	if (text_parse(&pb__trace_config__descriptor, path, text, len, &errors, &m) < 0) {
		fprintf(stderr, "%s\n", errors.s);
		exit(1);
	}
	if (trace_filter_new((Pb__TraceConfig *)m, &e, &f) < 0 || !f) {
		fprintf(stderr, "%s\n", f ? e.text : "the config has no trace_filter");
		exit(1);
	}
	return f;
}

enum what { COPY, GATE, FILTER, N_WHATS };

/* Nanoseconds; *ret_left: bytes that came out. */
static uint64_t round_of(enum what what, const struct packets *p, struct trace_filter *f,
			 uint8_t *to, size_t *ret_left)
{
	uint64_t begin = now_ns();

	for (size_t i = 0; i < p->n; i++) {
		struct trace_filter_input in = {
			.slices = &p->list[i], .n_slices = 1, .size = p->list[i].iov_len};
		const uint8_t *packet;
		size_t len = 0;

		if (what == COPY)
			memcpy(to, p->list[i].iov_base, p->list[i].iov_len);
		else if (what == GATE)
			len = packet_is_valid(&p->list[i], 1);
		else if (trace_filter_apply(f, &in, &packet, &len) < 0)
			len = 0;
		*ret_left += len;
	}
	return now_ns() - begin;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
	uint64_t best[N_WHATS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	struct trace_filter *filter;
	struct packets p;
	size_t len, left = 0;
	uint8_t *trace, *to;

	if (argc < 3)
		return 2;
	trace = slurp(argv[1], &len);
	p = read_packets(trace, len);
	filter = read_filter(argv[2]);
	to = malloc(p.largest + 1);
	for (unsigned i = 0; to && i < rounds; i++)
		for (enum what w = COPY; w < N_WHATS; w++) {
			size_t out = 0;
			uint64_t ns = round_of(w, &p, filter, to, &out);

			best[w] = MIN(best[w], ns);
			left = out;
		}
	printf("%zu packets, %zu bytes, %zu left\n", p.n, p.bytes, left);
	printf("ns/MB: copy %.0f, gate %.0f, filter %.0f\n", (double)best[COPY] * 1e6 / p.bytes,
	       (double)best[GATE] * 1e6 / p.bytes, (double)best[FILTER] * 1e6 / p.bytes);
	return 0;
}
