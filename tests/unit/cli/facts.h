/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "cli/report/summary.h"
#include "config/text.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/* A recording's facts to change at will: 2 CPUs, one buffer of 1 MB, nothing lost. */
struct facts {
	struct record_facts f;
	struct trace_scan scan;
	struct service_stats stats;
	struct service_stats before;
	struct name_list sources;
	struct name_list offered;
	struct name_list gone;
	struct name_list left_out;
};

static inline void facts_init(struct facts *x, const char *config_text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *config;

	memset(x, 0, sizeof(*x));
	if (text_parse(&pb__trace_config__descriptor, "test", config_text, strlen(config_text),
		       &errors, &config))
		abort();
	x->stats.n_buffers = 1;
	x->stats.buffers[0].size = 1000000;
	x->stats.buffers[0].bytes_written = 500000;
	x->f = (struct record_facts){
		.config = (Pb__TraceConfig *)config,
		.scan = &x->scan,
		.stats = &x->stats,
		.before = &x->before,
		.sources = &x->sources,
		.offered = &x->offered,
		.gone = &x->gone,
		.left_out = &x->left_out,
		.from_words = true,
		.output = "x.pftrace",
		.file_bytes = 1240000,
		.elapsed_ms = 5004,
		.cpus = 2,
	};
}

static inline void facts_deinit(struct facts *x)
{
	pb__trace_config__free_unpacked((Pb__TraceConfig *)x->f.config, NULL);
	trace_scan_deinit(&x->scan);
	name_list_deinit(&x->sources);
	name_list_deinit(&x->offered);
	name_list_deinit(&x->gone);
	name_list_deinit(&x->left_out);
}

static inline struct ring *facts_ring(struct facts *x, uint32_t cpu, uint64_t overrun)
{
	struct ftrace_scan *s = &x->scan.ftrace;
	struct ring *r;

	s->rings = realloc(s->rings, (s->n_rings + 1) * sizeof(*s->rings));
	s->cap_rings = s->n_rings + 1;
	r = &s->rings[s->n_rings++];
	*r = (struct ring){.sequence = 2, .cpu = cpu, .has_end = true, .end = {.overrun = overrun}};
	return r;
}

/* A packet of a sequence in the trace. dropped: previous_packet_dropped, n_dropped: packets_dropped. */
static inline void facts_packet(struct facts *x, uint32_t sequence, int32_t pid, uint32_t dropped,
				uint64_t n_dropped, bool is_first)
{
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		abort();
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	pb_enc_i64(&m.enc, PB_TRACE_PACKET_TRUSTED_PID, pid);
	pb_enc_u64(&m.enc, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, dropped);
	if (n_dropped)
		pb_enc_u64(&m.enc, PB_TRACE_PACKET_PACKETS_DROPPED, n_dropped);
	if (is_first)
		pb_enc_bool(&m.enc, PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, true);
	trace_scan_packet(&x->scan, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

#define FACTS_FTRACE                                                                               \
	"buffers { size_kb: 1000 } data_sources { config { name: 'linux.ftrace' ftrace_config {"   \
	" ftrace_events: 'sched/sched_switch' } } }"
