/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/consumer_port.pb-c.h"
#include "service/ipc/limits.h"
#include "unit/service/clone_rig.h"
#include "unit/test.h"

static uint64_t ask(uint64_t session)
{
	return peer_call_number(cloner, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID, session);
}

static uint64_t ask_by_name(const char *name)
{
	return peer_call_text(cloner, C_CLONE, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, name);
}

static struct peer_packets read_clone(void)
{
	struct peer_packets t;

	assert_true(peer_read(cloner, &t));
	return t;
}

static unsigned count_in_clone(const char *text)
{
	struct peer_packets t = read_clone();
	unsigned n = peer_count_text(&t, text);

	peer_packets_free(&t);
	return n;
}

/* A clone of session 1, which has one data source that flushes. */
static void make_clone(struct stage *g)
{
	uint64_t id = ask(1);

	await_flush(g, CLONE_FLAGS);
	assert_cloned(cloner, id);
}

/* ---- what is in it ---- */

STAGE_TEST(snapshot_of_a_running_session)
{
	int64_t msb, lsb, source_msb, source_lsb;

	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "before");
	trace_uuid(rig_session(&g->rig)->trace, &source_msb, &source_lsb);
	make_clone(g);
	trace_uuid(rig_session(&g->rig)->trace, &msb, &lsb);
	assert_int_not_equal(msb, source_msb);
	assert_int_equal(lsb, source_lsb);
	assert_true(peer_rejected(cloner, peer_call(cloner, C_FLUSH, NULL, 0)));
	assert_int_equal(rig_session(&g->rig)->id, 2);
	assert_int_equal(rig_session(&g->rig)->state, SESSION_CLONED);
	assert_int_equal(rig_session(&g->rig)->final_flush, FINAL_FLUSH_SUCCEEDED);
	stage_write(g, 0, 1, 1, "after");
	peer_packets_free(&g->got);
	g->got = read_clone();
	assert_int_equal(peer_count_text(&g->got, "before"), 1);
	assert_int_equal(peer_count_text(&g->got, "after"), 0);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_CONFIG) > 0);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER) > 0);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_STATS) > 0);
	/* The source has all of it, and goes on. */
	assert_int_equal(stage_count(g, "before"), 1);
	assert_int_equal(TAILQ_FIRST(&g->rig.sessions->list)->state, SESSION_STARTED);
	/* What is freed is the clone. */
	assert_true(peer_accepted(cloner, peer_call(cloner, C_FREE, NULL, 0)));
	assert_int_equal(rig_session(&g->rig)->id, 1);
}

STAGE_TEST(what_was_read_is_not_cloned)
{
	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "read");
	assert_int_equal(stage_count(g, "read"), 1);
	stage_write(g, 0, 1, 1, "unread");
	make_clone(g);
	peer_packets_free(&g->got);
	g->got = read_clone();
	assert_int_equal(peer_count_text(&g->got, "read"), 0);
	assert_int_equal(peer_count_text(&g->got, "unread"), 1);
	/* Its head is there again: it is a trace of its own. */
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_CONFIG) > 0);
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT), 0);
}

/* A clone of session 1; the flush brings a chunk of writer 1 with this id and text. */
static void make_clone_with_flush_of(struct stage *g, uint32_t chunk, const char *text)
{
	struct pb_field f;
	uint64_t id = ask(1);

	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	peer_write_chunk(&g->s.smb, 0, 1, chunk, &text, 1, true);
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, 0, 0, g->s.buffer,
						       peer_number(&f, CMD(FLUSH_REQUEST_ID)))));
	assert_cloned(cloner, id);
	peer_packets_free(&g->got);
	g->got = read_clone();
}

STAGE_TEST(slow_flush_does_not_stop_it)
{
	uint64_t id;

	stage_start(g, STAGE_CONFIG " flush_timeout_ms: 50");
	stage_write(g, 0, 1, 0, "data");
	id = ask(1);
	assert_cloned(cloner, id);
	assert_int_equal(rig_session(&g->rig)->final_flush, FINAL_FLUSH_FAILED);
	assert_int_equal(count_in_clone("data"), 1);
}

STAGE_TEST(session_that_has_ended_can_be_cloned)
{
	stage_start(g, STAGE_CONFIG);
	stage_write(g, 0, 1, 0, "data");
	stage_disable(g);
	assert_cloned(cloner, ask(1));
	assert_int_equal(count_in_clone("data"), 1);
	assert_int_equal(stage_count(g, "data"), 1);
}

STAGE_TEST(events_say_what_was_done)
{
	struct pb_field event, f;
	unsigned cloned = 0;

	stage_start(g, STAGE_CONFIG " buffers { size_kb: 4 }");
	make_clone(g);
	peer_packets_free(&g->got);
	g->got = read_clone();
	for (size_t i = 0; i < g->got.n; i++)
		if (peer_packet_field(&g->got, i, PB_TRACE_PACKET_SERVICE_EVENT, &event) &&
		    peer_subfield(&event, PB_TRACING_SERVICE_EVENT_BUFFER_CLONED, &f))
			assert_int_equal(f.u64, cloned++);
	assert_int_equal(cloned, 2);
}

/* ---- which one ---- */

STAGE_TEST(by_name)
{
	uint64_t id;

	stage_start(g, STAGE_CONFIG " unique_session_name: 'mine'");
	stage_write(g, 0, 1, 0, "data");
	id = ask_by_name("mine");
	await_flush(g, CLONE_FLAGS);
	assert_cloned(cloner, id);
	assert_int_equal(count_in_clone("data"), 1);
	/* The clone has the name too, and is not found by it, nor in the way of a new session. */
	stage_free_buffers(g);
	peer_enable(g->cons, "buffers { size_kb: 4 } unique_session_name: 'mine'");
	assert_true(peer_is_quiet(g->cons));
	assert_int_equal(rig_session(&g->rig)->id, 3);
}

STAGE_TEST(one_that_is_not_there)
{
	assert_not_cloned(cloner, ask(1), "not found");
	assert_not_cloned(cloner, ask_by_name("mine"), "not found");
	assert_not_cloned(cloner, ask_by_name(""), "not found");
	assert_not_cloned(cloner, ask(UINT64_MAX), "bugreport");
}

static struct consumer_port *port_of_cloner(struct stage *g);

/* Another user may have the same name: root clones its own first, others never that one. */
STAGE_TEST(by_a_name_that_another_user_has_too)
{
	struct peer *other = rig_consumer(&g->rig);
	struct consumer_port *port;
	uint64_t id;

	peer_enable(other, "buffers { size_kb: 4 } unique_session_name: 'mine'");
	assert_true(peer_is_quiet(other));
	rig_session(&g->rig)->uid = 1001; /* as if another user had connected */
	port = port_of_cloner(g);
	port->uid = 1000;
	assert_not_cloned(cloner, ask_by_name("mine"), "another UID");
	port->uid = 0;
	stage_start(g, STAGE_CONFIG " unique_session_name: 'mine'");
	rig_session(&g->rig)->uid = 0;
	stage_write(g, 0, 1, 0, "data");
	id = ask_by_name("mine");
	await_flush(g, CLONE_FLAGS);
	assert_cloned(cloner, id);
	assert_int_equal(count_in_clone("data"), 1);
	rig_hang_up(&g->rig, other);
}

static struct consumer_port *port_of_cloner(struct stage *g)
{
	struct consumer_port *port;

	assert_true(peer_accepted(cloner, peer_call(cloner, C_QUERY_CAPABILITIES, NULL, 0)));
	peer_enable(cloner, "buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(cloner));
	port = rig_consumer_port(rig_session(&g->rig));
	assert_true(peer_accepted(cloner, peer_call(cloner, C_FREE, NULL, 0)));
	peer_next(cloner); /* the end of it */
	return port;
}

/* The highest score counts, of the sessions that the user may clone. */
STAGE_TEST(bugreport_is_of_the_highest_score)
{
	struct peer *lower = rig_consumer(&g->rig), *foreign = rig_consumer(&g->rig);
	uint64_t id;

	stage_start(g, STAGE_CONFIG " bugreport_score: 2");
	rig_session(&g->rig)->uid = 1000; /* as if other users had connected */
	peer_enable(lower, "buffers { size_kb: 4 } bugreport_score: 1");
	assert_true(peer_is_quiet(lower));
	rig_session(&g->rig)->uid = 1000;
	peer_enable(foreign, "buffers { size_kb: 4 } bugreport_score: 3");
	assert_true(peer_is_quiet(foreign));
	rig_session(&g->rig)->uid = 1001;
	port_of_cloner(g)->uid = 1000;
	stage_write(g, 0, 1, 0, "data");
	id = ask(UINT64_MAX);
	await_flush(g, CLONE_FLAGS | FLUSH_FOR_BUGREPORT);
	assert_cloned(cloner, id);
	assert_int_equal(count_in_clone("data"), 1);
	rig_hang_up(&g->rig, lower);
	rig_hang_up(&g->rig, foreign);
}

STAGE_TEST(consumer_with_a_session_clones_none)
{
	stage_start(g, STAGE_CONFIG);
	assert_not_cloned(
		g->cons, peer_call_number(g->cons, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID, 1),
		"already attached");
}

STAGE_TEST(consumer_that_gets_a_session_meanwhile_has_no_clone)
{
	uint64_t id;

	stage_start(g, STAGE_CONFIG);
	id = ask(1);
	peer_enable(cloner, "buffers { size_kb: 4 }");
	await_flush(g, CLONE_FLAGS);
	assert_not_cloned(cloner, id, "already attached");
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
	assert_non_null(rig_consumer_port(rig_session(&g->rig))->session);
}

STAGE_TEST(clones_are_bounded)
{
	struct peer *p[(MAX_CLONES / 4)];

	stage_begin(g, "buffers { size_kb: 4 }");
	for (unsigned i = 0; i < (MAX_CLONES / 4); i++) {
		p[i] = rig_consumer(&g->rig);
		assert_cloned(p[i], peer_call_number(p[i], C_CLONE,
						     PB_CLONE_SESSION_REQUEST_SESSION_ID, 1));
	}
	assert_not_cloned(cloner, ask(1), "32 cloned sessions");
	for (unsigned i = 0; i < (MAX_CLONES / 4); i++)
		rig_hang_up(&g->rig, p[i]);
	assert_cloned(cloner, ask(1));
}

/* ---- one that is on its way ---- */

STAGE_TEST(cloner_may_hang_up_first)
{
	stage_start(g, STAGE_CONFIG " flush_timeout_ms: 50");
	ask(1);
	assert_true(peer_is_quiet(cloner));
	rig_hang_up(&g->rig, cloner);
	cloner = rig_consumer(&g->rig);
	rig_until(&g->rig, rig_session(&g->rig)->n_flushes == 0);
	assert_true(TAILQ_EMPTY(&rig_session(&g->rig)->watches));
	assert_int_equal(rig_session(&g->rig)->id, 1);
}

STAGE_TEST(second_request_ends_the_first)
{
	uint64_t first, second;
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	first = ask(1);
	second = ask(1);
	assert_true(peer_rejected(cloner, first));
	for (int i = 0; i < 2; i++)
		assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	stage_ack_flush(g, &f);
	assert_cloned(cloner, second);
	assert_int_equal(rig_session(&g->rig)->id, 2);
}

/* ---- moved and cleared buffers ---- */

#define TWO_BUFFERS(first)                                                                         \
	"buffers { size_kb: 64 " first " } buffers { size_kb: 64 } "                               \
	"data_sources { config { name: 'src' } }"

STAGE_TEST(moved_buffer_begins_anew)
{
	stage_start(g, TWO_BUFFERS("transfer_on_clone: true"));
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 1, g->s.buffer)));
	stage_write(g, 0, 1, 0, "first");
	make_clone(g);
	assert_int_equal(count_in_clone("first"), 1);
	/* The producer writes on, by the same number, into the new one. */
	stage_write(g, 0, 1, 1, "second");
	assert_true(peer_accepted(cloner, peer_call(cloner, C_FREE, NULL, 0)));
	make_clone(g);
	assert_int_equal(count_in_clone("second"), 1);
	assert_int_equal(stage_count(g, "first"), 0);
}

/* Each clone can be read alone: the producer says anew what its packets refer to. */
TEST(producers_clear_their_state_when_their_buffer_is_moved_or_cleared)
{
	struct stage *g = stage_new(DS_CLEARS, false);
	struct pb_field f;
	uint64_t id;

	cloner = rig_consumer(&g->rig);
	stage_start(g, TWO_BUFFERS("transfer_on_clone: true"));
	make_clone(g);
	assert_true(peer_command(g->prod, g->stream, CMD(CLEAR_INCREMENTAL_STATE), &f));
	assert_int_equal(peer_number(&f, CMD(CLEAR_INCREMENTAL_STATE_DATA_SOURCE_IDS)),
			 g->s.instance);
	rig_hang_up(&g->rig, cloner);
	stage_free(g);

	g = stage_new(DS_CLEARS, false);
	cloner = rig_consumer(&g->rig);
	stage_start(g, TWO_BUFFERS("clear_before_clone: true"));
	stage_write(g, 0, 1, 0, "before");
	id = ask(1);
	assert_true(peer_command(g->prod, g->stream, CMD(CLEAR_INCREMENTAL_STATE), &f));
	await_flush(g, CLONE_FLAGS);
	assert_cloned(cloner, id);
	rig_hang_up(&g->rig, cloner);
	stage_free(g);
}

STAGE_TEST(cleared_buffer_has_the_data_of_the_flush)
{
	stage_start(g, TWO_BUFFERS("clear_before_clone: true"));
	stage_write(g, 0, 1, 0, "before");
	make_clone_with_flush_of(g, 1, "flushed");
	assert_int_equal(peer_count_text(&g->got, "before"), 0);
	assert_int_equal(peer_count_text(&g->got, "flushed"), 1);
}

static void start_with_a_moved_and_a_copied_buffer(struct stage *g)
{
	struct pb_field f;

	stage_configure(g, "buffers { size_kb: 64 transfer_on_clone: true } "
			   "buffers { size_kb: 64 } "
			   "data_sources { config { name: 'src' } } "
			   "data_sources { config { name: 'src' target_buffer: 1 } }");
	assert_true(peer_command(g->prod, g->stream, CMD(SETUP_DATA_SOURCE), &f));
	for (int i = 0; i < 2; i++)
		assert_true(peer_command(g->prod, g->stream, CMD(START_DATA_SOURCE), &f));
}

/* Each group waits for its own data sources only. */
STAGE_TEST(moved_and_copied_are_flushed_apart)
{
	uint64_t id, moved, copied;
	struct pb_field f;

	start_with_a_moved_and_a_copied_buffer(g);
	id = ask(1);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_DATA_SOURCE_IDS)), 1);
	moved = peer_number(&f, CMD(FLUSH_REQUEST_ID));
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_int_equal(peer_number(&f, CMD(FLUSH_DATA_SOURCE_IDS)), 2);
	copied = peer_number(&f, CMD(FLUSH_REQUEST_ID));
	stage_write(g, 0, 1, 0, "taken");
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, moved)));
	assert_true(peer_is_quiet(cloner));
	stage_write(g, 0, 1, 1, "for the next one");
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, copied)));
	assert_cloned(cloner, id);
	peer_packets_free(&g->got);
	g->got = read_clone();
	assert_int_equal(peer_count_text(&g->got, "taken"), 1);
	assert_int_equal(peer_count_text(&g->got, "for the next one"), 0);
	assert_int_equal(stage_count(g, "for the next one"), 1);
}

/* What was taken for it is the source's again, with what has come since. */
STAGE_TEST(cloner_may_hang_up_between_the_flushes)
{
	struct pb_field f;
	uint64_t moved;

	start_with_a_moved_and_a_copied_buffer(g);
	assert_true(peer_accepted(g->prod, peer_register_writer(g->prod, 1, g->s.buffer)));
	stage_write(g, 0, 1, 0, "recorded long ago");
	ask(1);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	moved = peer_number(&f, CMD(FLUSH_REQUEST_ID));
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_true(peer_accepted(g->prod, peer_ack_flush(g->prod, moved)));
	stage_write(g, 0, 1, 1, "since");
	rig_hang_up(&g->rig, cloner);
	cloner = rig_consumer(&g->rig);
	rig_until(&g->rig, TAILQ_EMPTY(&rig_session(&g->rig)->watches));
	stage_write(g, 0, 1, 2, "later");
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "recorded long ago"), 1);
	assert_int_equal(peer_count_text(&g->got, "since"), 1);
	assert_int_equal(peer_count_text(&g->got, "later"), 1);
}

/* ---- triggers ---- */

STAGE_TEST(clone_says_which_trigger_it_is_for)
{
	struct pb_field trigger, f;
	struct pb_mem m;
	uint64_t id;
	int i;

	stage_start(g, STAGE_CONFIG " trigger_config { trigger_mode: CLONE_SNAPSHOT "
				    "trigger_timeout_ms: 60000 triggers { name: 'hit' } }");
	stage_write(g, 0, 1, 0, "data");
	assert_true(peer_accepted(g->prod, peer_trigger(g->prod, "hit")));
	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_u64(&m.enc, PB_CLONE_SESSION_REQUEST_SESSION_ID, 1);
	pb_enc_str(&m.enc, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_NAME, "hit");
	pb_enc_str(&m.enc, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_PRODUCER_NAME, "who");
	pb_enc_i64(&m.enc, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_TRUSTED_PRODUCER_UID, 77);
	pb_enc_u64(&m.enc, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_BOOT_TIME_NS, 4711);
	pb_enc_u64(&m.enc, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_DELAY_MS, 5);
	id = peer_call_mem(cloner, C_CLONE, &m);
	await_flush(g, CLONE_FLAGS);
	assert_cloned(cloner, id);
	peer_packets_free(&g->got);
	g->got = read_clone();
	assert_int_equal(peer_count_text(&g->got, "data"), 1);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRIGGER) > 0);
	i = peer_find_packet(&g->got, 0, PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER);
	assert_true(i > 0);
	peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_TIMESTAMP, &f);
	assert_int_equal(f.u64, 4711);
	peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER, &trigger);
	assert_true(peer_subfield(&trigger, PB_TRIGGER_TRIGGER_NAME, &f));
	assert_memory_equal(f.data, "hit", 3);
	assert_true(peer_subfield(&trigger, PB_TRIGGER_PRODUCER_NAME, &f));
	assert_memory_equal(f.data, "who", 3);
	assert_int_equal(peer_number(&trigger, PB_TRIGGER_TRUSTED_PRODUCER_UID), 77);
	assert_int_equal(peer_number(&trigger, PB_TRIGGER_STOP_DELAY_MS), 5);
	/* The triggers have moved: the next clone has its own. */
	assert_true(peer_accepted(cloner, peer_call(cloner, C_FREE, NULL, 0)));
	make_clone(g);
	peer_packets_free(&g->got);
	g->got = read_clone();
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRIGGER), -1);
}
