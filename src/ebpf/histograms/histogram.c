/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/histograms/histogram.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "bpf/hist.h"
#include "bpf/settings.h"
#include "client/transport/writer.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/histograms/histogram_spec.h"
#include "gen/fields.h"

EBPF_DECLARE(hist);
EBPF_DECLARE(hist_tp);

#define PACKETS_MS 1000

/* The programs need an event that only the config names. */
static const struct ebpf_need needs_of_btf[] = {NEED_MEMBER("task_struct", "cgroups"), NEED_END};
static const struct ebpf_need no_needs[] = {NEED_END};

static const struct ebpf_variant variants[] = {
	{"tp", EBPF_IMAGE(hist), needs_of_btf},
	{"tp without BTF", EBPF_IMAGE(hist_tp), no_needs},
};

struct histogram {
	struct histogram_spec spec; /* since the run began: events with their groups */
	struct hist_settings settings;
	struct ebpf_family family;
};

/* What was written of a key. */
struct counted_key {
	struct hist_key key;
	UT_hash_handle hh;
	struct hist_counts last;
};

/* State of a run. */
struct histogram_run {
	const struct histogram *of; /* borrowed */
	struct map_reader map;
	struct counted_key *by_key; /* owned entries */
	uint64_t from, now; /* CLOCK_BOOTTIME: of the last packets and of this read */
	struct hist_cpu lost, lost_written;
	struct pb_enc *e; /* NULL: no packet is open */
	uint32_t n_rows; /* of the open packet */
	bool has_packet; /* the trace has the histogram */
};

/* ---- load ---- */

/* Chooses the variant of the programs. Linux 5.11 has a typed pointer to the running thread, and
 * task storage. */
static uint32_t histogram_prepare(struct ebpf_object *o, const struct ebpf_features *f,
				  uint32_t n_cpus)
{
	return f->has_map_type(f->ctx, BPF_MAP_TYPE_TASK_STORAGE) ? SONDA_TYPED_CURRENT : 0;
}

static int histogram_setup(struct ebpf_run *r, const struct ebpf_features *f)
{
	struct histogram *h = container_of(r->family, struct histogram, family);
	/* Memory of all elements is allocated at once, unless the kernel can do so in any event. */
	bool may_allocate = f->has_member(f->ctx, "bpf_htab", "ma");
	int e;

	e = histogram_spec_find_fields(&h->spec, f, &h->settings, &r->why);
	if (e < 0)
		return e;
	ebpf_object_set_constants(r->object, ".rodata.hist", &h->settings, sizeof(h->settings));
	ebpf_object_resize(r->object, "counts", h->spec.max_keys);
	if (may_allocate) {
		ebpf_object_set_map_flags(r->object, "counts", BPF_F_NO_PREALLOC);
		ebpf_object_set_map_flags(r->object, "begun", BPF_F_NO_PREALLOC);
	}
	if (h->spec.end_event[0]) {
		ebpf_object_leave_out_program(r->object, "on_value");
	} else {
		ebpf_object_leave_out_program(r->object, "on_begin");
		ebpf_object_leave_out_program(r->object, "on_end");
		ebpf_object_resize(r->object, "begun", 1);
	}
	return 0;
}

static int histogram_begin(struct ebpf_run *r)
{
	const struct histogram *h = container_of(r->family, struct histogram, family);
	struct histogram_run *s = r->state;
	bool is_time = h->spec.end_event[0];
	int fd = ebpf_object_map(r->object, "counts"), e;

	if (fd < 0)
		return fd;
	s->of = h;
	s->map = (struct map_reader){.fd = fd,
				     .key_size = sizeof(struct hist_key),
				     .value_size = sizeof(struct hist_counts)};
	s->from = clock_boot_ns();
	e = ebpf_object_attach_to_tracepoint(r->object, is_time ? "on_begin" : "on_value",
					     h->spec.event, &r->why);
	return e == 0 && is_time ? ebpf_object_attach_to_tracepoint(r->object, "on_end",
								    h->spec.end_event, &r->why)
				 : e;
}

static void histogram_end(struct ebpf_run *r)
{
	struct histogram_run *s = r->state;

	map_reader_deinit(&s->map);
	HASH_FREE(s->by_key);
}

/* ---- packets ---- */

static void write_histogram_spec(struct pb_enc *e, const struct histogram_spec *s)
{
	pb_enc_str(e, PB_EVENT_HISTOGRAM_NAME, s->name);
	pb_enc_str(e, PB_EVENT_HISTOGRAM_EVENT, s->event);
	if (s->field[0])
		pb_enc_str(e, PB_EVENT_HISTOGRAM_FIELD, s->field);
	if (s->end_event[0])
		pb_enc_str(e, PB_EVENT_HISTOGRAM_END_EVENT, s->end_event);
	if (s->key[0])
		pb_enc_str(e, PB_EVENT_HISTOGRAM_KEY, s->key);
	if (!s->n_steps)
		return;
	pb_enc_open(e, PB_EVENT_HISTOGRAM_LINEAR);
	pb_enc_sint(e, PB_EVENT_HISTOGRAM_LINEAR_MIN, s->min);
	pb_enc_u64(e, PB_EVENT_HISTOGRAM_LINEAR_STEP, s->step);
	pb_enc_u64(e, PB_EVENT_HISTOGRAM_LINEAR_STEPS, s->n_steps);
	pb_enc_close(e);
}

static void histogram_begin_packet(struct ebpf_run *r, struct histogram_run *s)
{
	/* Pending values of tracks are written before other packets. */
	tracks_end(r->tracks);
	s->e = writer_begin(r->writer);
	s->n_rows = 0;
	s->has_packet = true;
	pb_enc_u64(s->e, PB_TRACE_PACKET_TIMESTAMP, s->now);
	pb_enc_open(s->e, PB_TRACE_PACKET_EVENT_HISTOGRAM);
	write_histogram_spec(s->e, &s->of->spec);
	pb_enc_u64(s->e, PB_EVENT_HISTOGRAM_DURATION_NS, s->now - s->from);
}

static void histogram_end_packet(struct ebpf_run *r, struct histogram_run *s)
{
	if (!s->e)
		return;
	if (s->lost.no_key != s->lost_written.no_key)
		pb_enc_u64(s->e, PB_EVENT_HISTOGRAM_NO_KEY, s->lost.no_key);
	if (s->lost.no_begin != s->lost_written.no_begin)
		pb_enc_u64(s->e, PB_EVENT_HISTOGRAM_NO_BEGIN, s->lost.no_begin);
	s->lost_written = s->lost;
	pb_enc_close(s->e);
	s->e = NULL;
	writer_end(r->writer);
}

static void put_key(const struct histogram_run *s, const struct hist_key *key)
{
	uint32_t kind = s->of->settings.key_kind;

	if (kind == HIST_BY_COMM || kind == HIST_BY_TEXT)
		pb_enc_bytes(s->e, PB_EVENT_HISTOGRAM_ROW_TEXT, key->text,
			     strnlen((const char *)key->text, HIST_KEY_SIZE));
	else if (kind != HIST_BY_NOTHING)
		pb_enc_sint(s->e, PB_EVENT_HISTOGRAM_ROW_NUMBER, key->number);
}

static void histogram_put_row(struct ebpf_run *r, struct histogram_run *s,
			      const struct counted_key *k, const struct hist_counts *now)
{
	if (s->e && s->n_rows == HISTOGRAM_ROWS_EACH)
		histogram_end_packet(r, s);
	if (!s->e)
		histogram_begin_packet(r, s);
	s->n_rows++;
	pb_enc_open(s->e, PB_EVENT_HISTOGRAM_ROWS);
	put_key(s, &k->key);
	pb_enc_sint(s->e, PB_EVENT_HISTOGRAM_ROW_TOTAL,
		    (int64_t)((uint64_t)now->total - (uint64_t)k->last.total));
	pb_enc_open(s->e, PB_EVENT_HISTOGRAM_ROW_BUCKETS);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		if (now->buckets[i] == k->last.buckets[i])
			continue;
		pb_enc_packed_varint(s->e, i);
		pb_enc_packed_varint(s->e, now->buckets[i] - k->last.buckets[i]);
	}
	pb_enc_close(s->e);
	pb_enc_close(s->e);
}

/* ---- reads ---- */

static struct counted_key *counted_key_get(struct histogram_run *s, const struct hist_key *key)
{
	struct counted_key *k;

	HASH_FIND(hh, s->by_key, key, sizeof(*key), k);
	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->key = *key;
	HASH_ADD(hh, s->by_key, key, sizeof(k->key), k);
	if (!k->hh.tbl)
		free(TAKE_PTR(k));
	return k;
}

/* Elements change while they are read: what an event has not added yet is in the next read. */
static void histogram_add_element(void *ctx, const void *key, const void *value)
{
	struct ebpf_run *r = ctx;
	struct histogram_run *s = r->state;
	const struct hist_counts *now = value;
	struct counted_key *k = counted_key_get(s, key);

	if (!k || !memcmp(k->last.buckets, now->buckets, sizeof(now->buckets)))
		return;
	histogram_put_row(r, s, k, now);
	k->last = *now;
}

static int histogram_read(struct ebpf_run *r)
{
	struct histogram_run *s = r->state;
	int e;

	s->now = clock_boot_ns();
	if (!r->is_asked_for_all && s->now - s->from < PACKETS_MS * NS_PER_MS)
		return 0;
	e = map_cpus_sum(&r->cpus, &s->lost);
	if (e == 0)
		e = map_each(&s->map, histogram_add_element, r);
	if (s->lost.no_key)
		ebpf_errors_set_count(r->errors, r->family->name,
				      "values not counted: no room for their key", s->lost.no_key,
				      false);
	if (s->lost.no_begin)
		ebpf_errors_set_count(r->errors, r->family->name,
				      "durations not counted: no room to record their start",
				      s->lost.no_begin, false);
	/* A histogram without values is in the trace, too. */
	if (!s->e && (!s->has_packet || memcmp(&s->lost, &s->lost_written, sizeof(s->lost)) != 0))
		histogram_begin_packet(r, s);
	histogram_end_packet(r, s);
	s->from = s->now;
	return e;
}

/* ---- the family ---- */

int histogram_new(const Pb__EbpfCountersConfig__Histogram *c, struct histogram **ret,
		  struct err_text *e)
{
	struct histogram *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	r = histogram_spec_read(c, &h->spec, e);
	if (r < 0) {
		free(h);
		return r;
	}
	h->family = (struct ebpf_family){
		.name = h->spec.name,
		.variants = variants,
		.n_variants = ARRAY_SIZE(variants),
		.cpu_size = sizeof(struct hist_cpu),
		.state_size = sizeof(struct histogram_run),
		.prepare = histogram_prepare,
		.setup = histogram_setup,
		.begin = histogram_begin,
		.read = histogram_read,
		.end = histogram_end,
	};
	*ret = h;
	return 0;
}

void histogram_free(struct histogram *h)
{
	free(h);
}

const struct ebpf_family *histogram_family(const struct histogram *h)
{
	return &h->family;
}
