/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A service in this process and peers connected to it. */

#include <event2/event.h>

#include "service/buffer/trace_buffer.h"
#include "service/consumer/consumer_port.h"
#include "service/consumer/consumer_state.h"
#include "service/output/file_writer.h"
#include "service/producer/producer_port.h"
#include "service/service.h"
#include "service/session/session_state.h"
#include "service/session/sessions.h"
#include "system/service_peer_consumer.h"
#include "system/service_peer_producer.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

struct rig {
	struct event_base *loop;
	struct service *service;
	/* Parts of the service; NULL without one. */
	struct sessions *sessions;
	struct producers *producers;
	struct quota *quota;
	const struct remote_machines *machines;
};

/* Something has been written into a file. */
static inline bool rig_await_writer(struct rig *r)
{
	struct session *s;

	if (!r->sessions)
		return false;
	TAILQ_FOREACH (s, &r->sessions->list, link)
		if (s->file && file_writer_await_writer(s->file))
			return true;
	return false;
}

static inline void rig_pump(void *ctx)
{
	struct rig *r = ctx;

	do
		event_base_loop(r->loop, EVLOOP_NONBLOCK);
	while (rig_await_writer(r));
}

static inline void rig_start_service(struct rig *r)
{
	assert_int_equal(service_new(r->loop, NULL, &r->service), 0);
	r->sessions = service_sessions(r->service);
	r->producers = r->sessions->producers;
	r->quota = r->sessions->quota;
	r->machines = r->sessions->trace_env.machines;
}

static inline void rig_init(struct rig *r)
{
	r->loop = event_base_new();
	assert_non_null(r->loop);
	rig_start_service(r);
}

static inline void rig_deinit(struct rig *r)
{
	service_free(r->service);
	event_base_free(r->loop);
}

/* The caller hands *ret_fd, the other end, to a host. */
static inline struct peer *rig_peer(struct rig *r, int *ret_fd)
{
	struct peer *p = malloc(sizeof(*p));
	int fds[2];

	assert_non_null(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	peer_init(p, fds[1]);
	p->pump = rig_pump;
	p->ctx = r;
	*ret_fd = fds[0];
	return p;
}

static inline struct peer *rig_producer(struct rig *r)
{
	struct peer *p;
	int fd;

	p = rig_peer(r, &fd);
	assert_int_equal(service_adopt_producer(r->service, fd), 0);
	return p;
}

static inline struct peer *rig_consumer(struct rig *r)
{
	struct peer *p;
	int fd;

	p = rig_peer(r, &fd);
	assert_int_equal(service_adopt_consumer(r->service, fd), 0);
	return p;
}

/* Hangs up, and lets the service see it. */
static inline void rig_hang_up(struct rig *r, struct peer *p)
{
	peer_close(p);
	free(p);
	for (int i = 0; i < 4; i++)
		rig_pump(r);
}

/* Turns of the loop until cond holds. */
#define rig_until(r, cond)                                                                         \
	do {                                                                                       \
		uint64_t end_ = clock_mono_ns() + PEER_TIMEOUT_MS * NS_PER_MS;                     \
		while (!(cond)) {                                                                  \
			assert_true(clock_mono_ns() < end_);                                       \
			rig_pump(r);                                                               \
			usleep(500);                                                               \
		}                                                                                  \
	} while (0)

/* The newest session and the newest producer of the service. */
static inline struct session *rig_session(struct rig *r)
{
	return TAILQ_LAST(&r->sessions->list, session_list);
}

static inline struct consumer_port *rig_consumer_port(struct session *s)
{
	return s->owner.ctx;
}

static inline struct producer_port *rig_producer_port(struct rig *r)
{
	return TAILQ_LAST(&r->producers->list, producer_list);
}

/* ---- a producer and a consumer ---- */

#define STAGE_CONFIG "buffers { size_kb: 64 } data_sources { config { name: 'src' } }"

struct stage {
	struct rig rig;
	struct peer *prod, *cons;
	uint64_t stream; /* of the producer's commands */
	uint64_t enable;
	struct peer_session s; /* what the producer got of the session */
	struct peer_packets got; /* what stage_read has read last */
	void *dir; /* of stage_setup_with_dir; NULL: there is none */
};

/* The producer offers "src". */
static inline struct stage *stage_new(unsigned source_flags, bool scraping)
{
	struct stage *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	rig_init(&g->rig);
	g->prod = rig_producer(&g->rig);
	g->stream = peer_become_producer(g->prod, "prod", "src", source_flags, scraping);
	g->cons = rig_consumer(&g->rig);
	return g;
}

static inline void stage_free(struct stage *g)
{
	peer_packets_free(&g->got);
	if (g->s.smb.base)
		peer_unmap(&g->s);
	if (g->prod)
		rig_hang_up(&g->rig, g->prod);
	if (g->cons)
		rig_hang_up(&g->rig, g->cons);
	/* The thread that writes its file says when a session ends. */
	rig_until(&g->rig, TAILQ_EMPTY(&g->rig.sessions->list));
	assert_true(TAILQ_EMPTY(&g->rig.producers->list));
	assert_true(TAILQ_EMPTY(&g->rig.producers->registry.sources));
	assert_int_equal(g->rig.quota->held[QUOTA_SMB_BYTES], 0);
	rig_deinit(&g->rig);
	if (g->dir)
		temp_dir_teardown(&g->dir);
	free(g);
}

static inline void stage_hang_up_producer(struct stage *g)
{
	rig_hang_up(&g->rig, g->prod);
	g->prod = NULL;
}

/* The session runs, and the producer has got all commands. */
static inline void stage_start(struct stage *g, const char *config)
{
	g->enable = peer_enable(g->cons, config);
	assert_true(peer_await_session(g->prod, g->stream, true, &g->s));
}

/* The session begins; its producer, if it has one, has not got all commands. */
static inline void stage_begin(struct stage *g, const char *config)
{
	g->enable = peer_enable(g->cons, config);
	rig_until(&g->rig, !TAILQ_EMPTY(&g->rig.sessions->list));
}

/* The session is set up, and starts later. */
static inline void stage_configure(struct stage *g, const char *config)
{
	g->enable = peer_enable(g->cons, config);
	assert_true(peer_await_session(g->prod, g->stream, false, &g->s));
}

/* The service refuses the config, and its error says why. */
static inline void stage_refuses(struct stage *g, const char *config, const char *why)
{
	assert_true(peer_tracing_ended(g->cons, peer_enable(g->cons, config), why));
}

/* The consumer ends tracing, or ends it and frees the buffers, and learns that it has ended. */
static inline void stage_disable(struct stage *g)
{
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

static inline void stage_free_buffers(struct stage *g)
{
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

/* The producer answers the flush of this command. */
static inline void stage_ack_flush(struct stage *g, const struct pb_field *flush)
{
	assert_true(peer_accepted(
		g->prod, peer_ack_flush(g->prod, peer_number(flush, CMD(FLUSH_REQUEST_ID)))));
}

/* Commits a chunk with one packet; its texts come from the test. */
static inline void stage_write(struct stage *g, uint32_t page, uint16_t writer, uint32_t chunk_id,
			       const char *text)
{
	uint64_t call;

	peer_write_chunk(&g->s.smb, page, writer, chunk_id, &text, 1, true);
	call = peer_commit(g->prod, page, 0, g->s.buffer, 0);
	/* A command of the service may come first, such as the flush before a periodic write. */
	if (!peer_accepted(g->prod, call)) {
		assert_true(g->prod->f.request_id == g->stream && g->prod->f.has_more);
		assert_true(peer_accepted(g->prod, call));
	}
}

/* n packets of this text, in chunks 0 to n - 1 of writer 1, through so many pages. */
static inline void stage_write_many(struct stage *g, uint32_t n, uint32_t pages, const char *text)
{
	for (uint32_t i = 0; i < n; i++)
		stage_write(g, i % pages, 1, i, text);
}

/* n times the same character. Stays until the next call. */
static inline const char *stage_text(char c, size_t n)
{
	static char text[8192];

	assert_true(n < sizeof(text));
	memset(text, c, n);
	text[n] = '\0';
	return text;
}

/* A chunk of n fragments of no bytes. */
static inline void stage_write_empty(struct stage *g, uint32_t page, uint16_t writer,
				     uint32_t chunk_id, uint16_t n)
{
	struct smb_chunk_header h = {.chunk_id = chunk_id, .writer_id = writer};
	struct smb_chunk c;

	assert_true(smb_partition(&g->s.smb, page, SMB_DIV1));
	assert_true(smb_acquire_free(&g->s.smb, page, 0, &h, &c));
	memset(c.payload, 0, n);
	smb_header_store_packets(c.header, n, 0);
	assert_true(smb_release_complete(&g->s.smb, page, 0));
	assert_true(peer_accepted(g->prod, peer_commit(g->prod, page, 0, g->s.buffer, 0)));
}

/* Reads all packets into g->got, in place of those that were there. */
static inline void stage_read(struct stage *g)
{
	peer_packets_free(&g->got);
	assert_true(peer_read(g->cons, &g->got));
}

/* The field in the first packet of g->got that has it. */
static inline void stage_field(struct stage *g, uint32_t id, struct pb_field *ret)
{
	int i = peer_find_packet(&g->got, 0, id);

	assert_true(i >= 0 && peer_packet_field(&g->got, (size_t)i, id, ret));
}

/* How many packets of the text come out of the buffers now. */
static inline unsigned stage_count(struct stage *g, const char *text)
{
	stage_read(g);
	return peer_count_text(&g->got, text);
}

/* Of the session's buffer. */
static inline const struct trace_buffer_stats *stage_stats(struct stage *g, size_t buffer)
{
	return trace_buffer_stats(trace_get_buffer(rig_session(&g->rig)->trace, buffer));
}

/* A test that gets a stage. A file whose source has flags or whose producer lets itself be scraped
 * defines STAGE_FLAGS or STAGE_SCRAPING before it includes this header; one with more to set up
 * defines STAGE_SETUP and STAGE_TEARDOWN. */
#ifndef STAGE_FLAGS
#define STAGE_FLAGS 0
#endif
#ifndef STAGE_SCRAPING
#define STAGE_SCRAPING false
#endif

static inline int stage_setup(void **state)
{
	*state = stage_new(STAGE_FLAGS, STAGE_SCRAPING);
	return 0;
}

static inline int stage_setup_with_dir(void **state)
{
	struct stage *g;

	stage_setup(state);
	g = *state;
	return temp_dir_setup(&g->dir);
}

static inline int stage_teardown(void **state)
{
	stage_free(*state);
	return 0;
}

#ifndef STAGE_SETUP
#define STAGE_SETUP stage_setup
#endif
#ifndef STAGE_TEARDOWN
#define STAGE_TEARDOWN stage_teardown
#endif
#define STAGE_TEST(name) TEST_STATE(name, STAGE_SETUP, STAGE_TEARDOWN, struct stage *g)
