/* SPDX-License-Identifier: Apache-2.0 */
#include "common/trace_stats.pb-c.h"
#include "unit/service/rig.h"
#include "unit/test.h"

static Pb__TraceStats *stats(struct stage *g, size_t max)
{
	Pb__TraceStats *s;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	session_put_stats(rig_session(&g->rig), &m.enc, max);
	s = pb__trace_stats__unpack(NULL, pb_mem_len(&m), m.buf);
	assert_non_null(s);
	pb_mem_deinit(&m);
	return s;
}

STAGE_TEST(counters_are_those_of_service_and_session)
{
	struct session *s;
	Pb__TraceStats *t;

	stage_start(g, STAGE_CONFIG " buffers { size_kb: 8 }");
	s = rig_session(&g->rig);
	g->rig.producers->chunks_discarded = 11;
	g->rig.producers->patches_discarded = 12;
	s->flushes_requested = 14;
	s->flushes_succeeded = 15;
	s->flushes_failed = 16;
	t = stats(g, SIZE_MAX);
	assert_int_equal(t->n_buffer_stats, 2);
	assert_int_equal(t->producers_connected, 1);
	assert_int_equal(t->producers_seen, 1);
	assert_int_equal(t->data_sources_registered, 1);
	assert_int_equal(t->data_sources_seen, 1);
	assert_int_equal(t->tracing_sessions, 1);
	assert_int_equal(t->tracing_session_id, 1);
	assert_int_equal(t->total_buffers, 2);
	assert_int_equal(t->chunks_discarded, 11);
	assert_int_equal(t->patches_discarded, 12);
	assert_int_equal(t->flushes_requested, 14);
	assert_int_equal(t->flushes_succeeded, 15);
	assert_int_equal(t->flushes_failed, 16);
	assert_false(t->has_final_flush_outcome);
	pb__trace_stats__free_unpacked(t, NULL);
	s->final_flush = FINAL_FLUSH_FAILED;
	t = stats(g, SIZE_MAX);
	assert_int_equal(t->final_flush_outcome, 2);
	pb__trace_stats__free_unpacked(t, NULL);
}

/* Each counter has a value of its own, so that none stands for another. */
static void number_counters(struct trace_buffer_stats *b)
{
	uint64_t numbers[sizeof(*b) / sizeof(uint64_t)];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = 1000 + i;
	memcpy(b, numbers, sizeof(*b));
}

STAGE_TEST(buffers_tell_all_their_counters)
{
	struct trace_buffer_stats *b, real;
	Pb__TraceStats__BufferStats *o;
	Pb__TraceStats *t;

	stage_start(g, STAGE_CONFIG);
	for (uint32_t i = 0; i < 40; i++) /* one out of order */
		stage_write(g, i, 1, i == 38 ? 39 : i == 39 ? 38 : i, "0123456789");
	b = (struct trace_buffer_stats *)stage_stats(g, 0);
	assert_int_equal(b->chunks_written, 40);
	assert_int_equal(b->chunks_committed_out_of_order, 1);
	real = *b;
	number_counters(b);
	t = stats(g, SIZE_MAX);
	o = t->buffer_stats[0];
	assert_int_equal(o->bytes_written, b->bytes_written);
	assert_int_equal(o->chunks_written, b->chunks_written);
	assert_int_equal(o->chunks_overwritten, b->chunks_overwritten);
	assert_int_equal(o->write_wrap_count, b->write_wrap_count);
	assert_int_equal(o->patches_succeeded, b->patches_succeeded);
	assert_int_equal(o->patches_failed, b->patches_failed);
	assert_int_equal(o->readaheads_succeeded, b->readaheads_succeeded);
	assert_int_equal(o->readaheads_failed, b->readaheads_failed);
	assert_int_equal(o->abi_violations, b->abi_violations);
	assert_int_equal(o->chunks_rewritten, b->chunks_rewritten);
	assert_int_equal(o->chunks_committed_out_of_order, b->chunks_committed_out_of_order);
	assert_int_equal(o->buffer_size, 65536);
	assert_int_equal(o->bytes_overwritten, b->bytes_overwritten);
	assert_int_equal(o->bytes_read, b->bytes_read);
	assert_int_equal(o->padding_bytes_written, b->padding_bytes_written);
	assert_int_equal(o->padding_bytes_cleared, b->padding_bytes_cleared);
	assert_int_equal(o->chunks_read, b->chunks_read);
	assert_int_equal(o->chunks_discarded, b->chunks_discarded);
	assert_int_equal(o->trace_writer_packet_loss, b->trace_writer_packet_loss);
	assert_int_equal(o->chunks_relocated, b->chunks_relocated);
	pb__trace_stats__free_unpacked(t, NULL);
	*b = real;
}

STAGE_TEST(writers_have_a_histogram_each)
{
	Pb__TraceStats *t;

	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "x");
	stage_write(g, 1, 2, 0, "y");
	t = stats(g, SIZE_MAX);
	assert_int_equal(t->n_chunk_payload_histogram_def, 10);
	assert_int_equal(t->chunk_payload_histogram_def[0], 8);
	assert_int_equal(t->chunk_payload_histogram_def[9], 16384);
	assert_int_equal(t->n_writer_stats, 2);
	assert_int_equal(t->writer_stats[0]->n_chunk_payload_histogram_counts, 11);
	assert_int_equal(t->writer_stats[0]->n_chunk_payload_histogram_sum, 11);
	assert_in_range(t->writer_stats[0]->sequence_id, 2, 3);
	assert_int_equal(t->writer_stats[0]->sequence_id + t->writer_stats[1]->sequence_id, 5);
	assert_int_equal(t->writer_stats[0]->buffer, 0);
	pb__trace_stats__free_unpacked(t, NULL);
}

STAGE_TEST(histograms_can_be_turned_off)
{
	Pb__TraceStats *t;

	stage_start(g,
		    STAGE_CONFIG " builtin_data_sources { disable_chunk_usage_histograms: true }");
	stage_write(g, 0, 1, 0, "x");
	t = stats(g, SIZE_MAX);
	assert_int_equal(t->n_writer_stats, 0);
	assert_int_equal(t->n_chunk_payload_histogram_def, 0);
	pb__trace_stats__free_unpacked(t, NULL);
}

STAGE_TEST(many_writers_are_cut_to_the_size)
{
	Pb__TraceStats *all, *some;

	stage_start(g, STAGE_CONFIG);
	for (uint16_t i = 1; i <= 300; i++)
		stage_write(g, i % 64, i, 0, "x");
	all = stats(g, SIZE_MAX);
	some = stats(g, 4000);
	assert_int_equal(all->n_writer_stats, 300);
	assert_in_range(some->n_writer_stats, 10, 290);
	assert_true(pb__trace_stats__get_packed_size(some) < 5000);
	pb__trace_stats__free_unpacked(all, NULL);
	pb__trace_stats__free_unpacked(some, NULL);
}

/* What was refused, by kind: of limits with an account, and of those without. */
STAGE_TEST(refusals_are_counted_by_kind)
{
	uint64_t *refused = g->rig.quota->refused;
	Pb__TraceStats *t;
	unsigned n = 0;

	stage_start(g, STAGE_CONFIG);
	_Static_assert((int)N_REFUSED - 1 == (int)PB__TRACE_STATS__LIMIT__KIND__LIMIT_FILTER_RULES,
		       "the last");
	_Static_assert((int)QUOTA_MACHINES == (int)PB__TRACE_STATS__LIMIT__KIND__LIMIT_MACHINES,
		       "the same");
	for (unsigned i = 1; i < N_REFUSED; i++)
		refused[i] = 100 + i;
	t = stats(g, SIZE_MAX);
	assert_int_equal(t->n_limits, N_REFUSED - 1);
	for (size_t i = 0; i < t->n_limits; i++) {
		const Pb__TraceStats__Limit *l = t->limits[i];

		assert_int_equal(l->kind, i + 1);
		assert_int_equal(l->refused, 100 + i + 1);
		assert_int_equal(l->has_max, l->kind < (int)N_QUOTAS);
		n += l->has_held;
	}
	assert_int_equal(n, N_QUOTAS - 1);
	pb__trace_stats__free_unpacked(t, NULL);
}
