/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "bpf/tcp.h"
#include "ebpf/engine/images.h"
#include "ebpf/tracks/counter.h"

EBPF_DECLARE(tcp);
EBPF_DECLARE(tcp_raw);
EBPF_DECLARE(tcp_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("tcp_retransmit_skb", 2, 3), /* the error argument was added later */
	NEED_TP_BTF("tcp_send_reset", 2, 3), /* 6.10 added a reason */
	NEED_TP_BTF("tcp_receive_reset", 1, 1),
	NEED_TP_BTF("kfree_skb", 2, 4), /* 5.17 added a reason, 6.11 the socket */
	NEED_END,
};

static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("tcp/tcp_retransmit_skb", "skbaddr", 2, 3),
	NEED_RAW_TP("tcp/tcp_send_reset", "skbaddr", 2, 3),
	NEED_RAW_TP("tcp/tcp_receive_reset", "skaddr", 1, 1),
	NEED_RAW_TP("skb/kfree_skb", "skbaddr", 2, 4),
	NEED_END,
};

static const struct ebpf_need needs_of_tp[] = {
	NEED_EVENT("tcp/tcp_retransmit_skb", "skbaddr"),
	MAY_FIELD("tcp/tcp_retransmit_skb", "err", TCP_ERROR),
	NEED_EVENT("tcp/tcp_send_reset", "skbaddr"),
	NEED_EVENT("tcp/tcp_receive_reset", "skaddr"),
	NEED_EVENT("skb/kfree_skb", "skbaddr"),
	MAY_FIELD("skb/kfree_skb", "reason", TCP_REASON),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(tcp), needs_of_tp_btf},
	{"raw_tp", EBPF_IMAGE(tcp_raw), needs_of_raw_tp},
	{"tp", EBPF_IMAGE(tcp_tp), needs_of_tp},
};

#define REASON_NAME_SIZE 48

struct tcp {
	uint32_t group, reasons_group; /* TRACK_ROOT: no track yet */
	uint32_t retransmits, failed, sent, received, dropped;
	uint32_t reasons[TCP_REASONS];
	char names[TCP_REASONS][REASON_NAME_SIZE]; /* empty: no name */
};

static uint32_t tcp_prepare(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus)
{
	uint32_t switches = 0;

	if (f->count_args(f->ctx, "tcp_retransmit_skb") >= 3 ||
	    ebpf_has_field(f, "tcp/tcp_retransmit_skb", "err"))
		switches |= TCP_HAS_ERROR;
	if (f->count_args(f->ctx, "kfree_skb") >= 3 || ebpf_has_field(f, "skb/kfree_skb", "reason"))
		switches |= TCP_HAS_REASON;
	return switches;
}

/* Stores the name of a reason, without its prefix: SKB_DROP_REASON_NO_SOCKET is "NO_SOCKET". */
static void store_reason_name(void *ctx, const char *name, int64_t value)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	struct tcp *s = ctx;

	if (!strncmp(name, prefix, sizeof(prefix) - 1))
		name += sizeof(prefix) - 1;
	if (value >= 0 && value < TCP_REASONS - 1)
		snprintf(s->names[value], REASON_NAME_SIZE, "%s", name);
}

static int tcp_begin(struct ebpf_run *r)
{
	struct tcp *s = r->state;

	/* Without BTF the format file of the event has most of the names. */
	r->features->each_symbol(r->features->ctx, "skb/kfree_skb", "reason", store_reason_name, s);
	r->features->each_enumerator(r->features->ctx, "skb_drop_reason", store_reason_name, s);
	snprintf(s->names[TCP_REASONS - 1], REASON_NAME_SIZE, "of a subsystem");
	return 0;
}

static uint32_t tcp_add_counter(const struct ebpf_run *r, uint32_t parent, const char *name,
				const char *description)
{
	return ebpf_add_total(r, parent, name, description, TRACK_UNIT_COUNT);
}

static void tcp_add_tracks(const struct ebpf_run *r, struct tcp *s)
{
	s->group = ebpf_add_group(r, r->group, "Network");
	s->retransmits = tcp_add_counter(r, s->group, "TCP retransmits",
					 "retransmitted segments, since the recording began");
	s->sent = tcp_add_counter(r, s->group, "TCP resets sent", "since the recording began");
	s->received =
		tcp_add_counter(r, s->group, "TCP resets received", "since the recording began");
	s->dropped = tcp_add_counter(r, s->group, "dropped packets",
				     "for any reason, since the recording began");
}

static void set_drop_reason_tracks(const struct ebpf_run *r, struct tcp *s, const __u64 *dropped)
{
	char number[REASON_NAME_SIZE];

	for (size_t i = 0; i < TCP_REASONS; i++) {
		if (!dropped[i])
			continue;
		if (s->reasons_group == TRACK_ROOT)
			s->reasons_group = ebpf_add_group(r, s->group, "dropped packets by reason");
		snprintf(number, sizeof(number), "reason %zu", i);
		if (s->reasons[i] == TRACK_ROOT)
			s->reasons[i] = tcp_add_counter(r, s->reasons_group,
							s->names[i][0] ? s->names[i] : number,
							"since the recording began");
		tracks_set(r->tracks, s->reasons[i], (int64_t)dropped[i]);
	}
}

static void tcp_set_values(const struct ebpf_run *r, struct tcp *s, const struct tcp_cpu *sum)
{
	if (s->group == TRACK_ROOT)
		tcp_add_tracks(r, s);
	tracks_set(r->tracks, s->retransmits, (int64_t)sum->retransmits);
	tracks_set(r->tracks, s->sent, (int64_t)sum->resets_sent);
	tracks_set(r->tracks, s->received, (int64_t)sum->resets_received);
	tracks_set(r->tracks, s->dropped, (int64_t)sum->dropped);
	if (sum->retransmits_failed && s->failed == TRACK_ROOT)
		s->failed = tcp_add_counter(
			r, s->group, "TCP retransmits failed",
			"segments that could not be retransmitted, since the recording began");
	tracks_set(r->tracks, s->failed, (int64_t)sum->retransmits_failed);
	set_drop_reason_tracks(r, s, sum->reasons);
}

static int tcp_read_cpus(struct ebpf_run *r)
{
	struct tcp_cpu sum;
	int e = map_cpus_sum(&r->cpus, &sum);

	if (e == 0)
		tcp_set_values(r, r->state, &sum);
	return e;
}

static void tcp_remove_tracks(struct ebpf_run *r)
{
	const struct tcp *s = r->state;
	const uint32_t all[] = {s->retransmits, s->failed,	  s->sent, s->received,
				s->dropped,	s->reasons_group, s->group};

	for (size_t i = 0; i < TCP_REASONS; i++)
		tracks_remove(r->tracks, s->reasons[i]);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		tracks_remove(r->tracks, all[i]);
}

const struct ebpf_family tcp_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP,
	.name = "tcp",
	.by_default = true,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.cpu_size = sizeof(struct tcp_cpu),
	.state_size = sizeof(struct tcp),
	.prepare = tcp_prepare,
	.begin = tcp_begin,
	.read = tcp_read_cpus,
	.remove_tracks = tcp_remove_tracks,
};
