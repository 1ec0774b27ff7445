/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service_attacks_requests.h"

/* Attacks by what is recorded, and by how much there is of it. */

static struct peer *large_producer(const char *source, uint32_t size, uint32_t page, bool scraping,
				   uint64_t *ret_stream)
{
	struct peer *p = join(producers);
	struct pb_mem m = nothing();

	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "large");
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_SIZE_HINT_BYTES, size);
	pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SHARED_MEMORY_PAGE_SIZE_HINT_BYTES,
		   page);
	if (scraping)
		pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE, 1);
	if (!peer_accepted(p, peer_call_mem(p, P_INITIALIZE, &m)))
		attack_fails(__LINE__);
	*ret_stream = peer_call(p, P_GET_ASYNC, NULL, 0);
	add_sources(p, source, 1, 0);
	return p;
}

/* Reads a trace to its end. Returns the bytes, or 0 if the service refuses. */
static uint64_t read_all(struct peer *c)
{
	uint64_t id = peer_call(c, C_READ, NULL, 0), bytes = 0;

	do {
		if (!peer_reply(c, id) || !c->f.success)
			return 0;
		bytes += c->f.payload_len;
	} while (c->f.has_more);
	return bytes;
}

/* Packets as large as they may be, of fields as small as they may be. */
static void packets_of(const char *fill, size_t fill_len, const char *config_rest)
{
	const uint32_t page = 32768, n_pages = 64, n_chunks = (64u << 20) / PEER_LARGE_CHUNK;
	struct peer_session s = {0};
	struct peer *p, *c = consumer();
	uint32_t chunk_id = 0;
	uint64_t stream;
	char config[512];

	p = large_producer("packets", page * n_pages, page, false, &stream);
	snprintf(config, sizeof(config),
		 "buffers { size_kb: 131072 } data_sources { config { name: 'packets' } } %s",
		 config_rest);
	peer_enable(c, config);
	if (!peer_await_session(p, stream, true, &s))
		attack_fails(__LINE__);
	for (bool begun = false;; begun = true) {
		if (!peer_write_large(p, &s, &chunk_id, n_chunks, fill, fill_len))
			attack_fails(__LINE__);
		if (!begun)
			has_begun();
		if (!read_all(c))
			attack_fails(__LINE__);
	}
}

static void packets_of_small_fields(void)
{
	packets_of("\x08\x01", 2, "");
}

/* Three times field 900 in each chunk. */
static void packets_of_large_fields(void)
{
	static char field[(PEER_LARGE_CHUNK - 4) / 3] = "\xa2\x38\xa0\x55";

	packets_of(field, sizeof(field), "");
}

/* As many flushes as may run, of as many producers; and who acknowledges all of them, late. */
static void flushes(void)
{
	static const char config[] =
		"buffers { size_kb: 4 } data_sources { config { name: 's' } } flush_timeout_ms: 20";
	struct pb_mem flush = {0}, ack;

	for (int i = 0; i < 1000; i++) {
		struct pb_mem args = number(PB_FLUSH_REQUEST_TIMEOUT_MS, 1000);

		put_request(&flush, C_FLUSH, &args);
	}
	ack = once(P_COMMIT, number(PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, INT64_MAX));
	for (int i = 0; i < 400; i++) {
		struct peer *p = producer("many");

		add_sources(p, "s", 1, 0);
		listens(p);
		repeats(i % 4 ? NULL : &ack);
	}
	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		session(config);
		repeats(&flush);
	}
	go_on();
}

/* Flushes of sessions whose producers leave all their memory to be searched for open chunks. */
static void flushes_that_scrape(void)
{
	const uint32_t size = SMB_MAX_SIZE, page = 4096;
	struct pb_mem flush = once(C_FLUSH, number(PB_FLUSH_REQUEST_TIMEOUT_MS, 1));

	session("buffers { size_kb: 1024 } data_sources { config { name: 'open' } }");
	repeats(&flush);
	for (int i = 0; i < 7; i++) {
		struct peer_session s = {0};
		uint64_t stream;
		struct peer *p = large_producer("open", size, page, true, &stream);

		if (!peer_await_session(p, stream, true, &s))
			attack_fails(__LINE__);
		peer_register_writer(p, 1, s.buffer);
		for (uint32_t k = 0; k < s.smb.n_pages; k++)
			peer_write_chunk(&s.smb, k, 1, k, (const char *[]){"a", "b", "c"}, 3,
					 false);
	}
	go_on();
}

/* A session with a large config is detached and attached again; each attach returns the config. */
static void detached_and_attached(void)
{
	char *config = repeat("buffers { size_kb: 4 } ",
			      "data_sources { config { name: 'none' } } ", MAX_CONFIG_SOURCES);
	struct pb_mem all[LIMIT_SESSIONS_PER_UID] = {0};

	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		char key[16];
		struct pb_mem args;

		snprintf(key, sizeof(key), "key%d", i);
		args = text(PB_DETACH_REQUEST_KEY, key);
		put_request(&all[i], C_DETACH, &args);
		args = text(PB_ATTACH_REQUEST_KEY, key);
		put_request(&all[i], C_ATTACH, &args);
		session(config);
		repeats(&all[i]);
	}
	go_on();
}

/* Who asks for the states of as many data sources as a session may have. */
static void observers(void)
{
	char *config =
		repeat("buffers { size_kb: 4 } ", "data_sources { config { name: 's' } } ", 40);
	struct pb_mem all = once(C_OBSERVE, number(PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, 7));

	many_sources("s", 10, 12);
	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		session(config);
		repeats(&all);
	}
	go_on();
}

/* A config that is changed again and again. */
static void changes(void)
{
	char *config = repeat("buffers { size_kb: 4 } ", "data_sources { config { name: 's' } } ",
			      MAX_CONFIG_SOURCES);
	struct pb_mem all =
		once(C_CHANGE_CONFIG,
		     config_request(PB_CHANGE_TRACE_CONFIG_REQUEST_TRACE_CONFIG, config));

	many_sources("s", 60, 500);
	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		session(config);
		repeats(&all);
	}
	go_on();
}

/* Statistics of sessions in which many have written. */
static void statistics(void)
{
	struct pb_mem all = once(C_STATS, nothing());
	struct peer_session s = {0};
	struct peer *p, *c = consumer();
	const char *texts[] = {"x"};
	uint64_t stream;

	p = large_producer("stats", 1u << 20, 4096, false, &stream);
	peer_enable(c, "buffers { size_kb: 32768 } data_sources { config { name: 'stats' } }");
	attackers[0].requests = &all;
	if (!peer_await_session(p, stream, true, &s))
		attack_fails(__LINE__);
	for (uint32_t i = 1; i < 60000; i++) {
		peer_write_chunk(&s.smb, 0, (uint16_t)i, 0, texts, 1, true);
		if (!peer_accepted(p, peer_commit(p, 0, 0, s.buffer, 0)))
			attack_fails(__LINE__);
	}
	go_on();
}

/* Producers that connect, offer what sessions want, and leave. */
static void comings_and_goings(void)
{
	char *config =
		repeat("buffers { size_kb: 4 } ", "data_sources { config { name: 's' } } ", 8);
	struct pb_mem all = {0}, args;

	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++)
		session(config);
	args = text(PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "comes");
	put_request(&all, P_INITIALIZE, &args);
	for (int i = 0; i < 100; i++) {
		args = nothing();
		peer_put_descriptor(&args.enc, "s", DS_NOTIFY_START, 0);
		put_request(&all, P_REGISTER_SOURCE, &args);
	}
	if (!requests_are_accepted(join(producers), &all, false))
		attack_fails(__LINE__);
	has_begun();
	for (;;) {
		for (int i = 0; i < 50; i++) {
			join(producers);
			repeats(&all);
		}
		for (int i = 0; i < 20; i++)
			push_all();
		while (n_attackers > LIMIT_SESSIONS_PER_UID) {
			struct peer *p = attackers[--n_attackers].peer;

			attackers[n_attackers].at = 0;
			peer_close(p);
			free(p);
		}
	}
}

/* A commit that names the same chunks over and over, which another thread makes complete
 * meanwhile. */
static void commits_without_end(void)
{
	struct pb_mem all = {0}, args = nothing();
	struct peer_session s = {0};
	struct peer *p, *c = consumer();
	uint64_t stream;

	p = large_producer("busy", SMB_MAX_SIZE, SMB_MAX_PAGE, false, &stream);
	peer_enable(c, "buffers { size_kb: 65536 } data_sources { config { name: 'busy' } }");
	if (!peer_await_session(p, stream, true, &s))
		attack_fails(__LINE__);
	for (uint32_t i = 0; i < 12000; i++)
		peer_put_move(&args.enc, i % s.smb.n_pages, 0, s.buffer);
	put_request(&all, P_COMMIT, &args);
	attackers[1].requests = &all;
	for (uint32_t k = 0; k < s.smb.n_pages; k++)
		peer_write_chunk(&s.smb, k, 1, k, (const char *[]){"x"}, 1, true);
	if (fork() == 0) {
		uint32_t *words[SMB_MAX_SIZE / 4096], made[SMB_MAX_SIZE / 4096];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uint32_t k = 0; k < s.smb.n_pages; k++) {
			words[k] = (uint32_t *)((uint8_t *)s.smb.base + (size_t)k * SMB_MAX_PAGE);
			made[k] = *words[k];
		}
		for (;;)
			for (uint32_t k = 0; k < s.smb.n_pages; k++)
				*(volatile uint32_t *)words[k] = made[k];
	}
	go_on();
}

/* Patches of chunks that are there, as many as a request takes. */
static void patches(void)
{
	struct pb_mem all = {0}, args = nothing();
	struct peer_session s = {0};
	struct peer *p, *c = consumer();
	uint64_t stream;

	p = large_producer("patch", 1u << 20, 4096, false, &stream);
	peer_enable(c, "buffers { size_kb: 65536 } data_sources { config { name: 'patch' } }");
	if (!peer_await_session(p, stream, true, &s))
		attack_fails(__LINE__);
	for (uint32_t i = 0; i < 20000; i++) {
		peer_write_chunk(&s.smb, 0, 1, i * 2, (const char *[]){"x"}, 1, true);
		if (!peer_accepted(p, peer_commit(p, 0, 0, s.buffer, 0)))
			attack_fails(__LINE__);
	}
	for (uint32_t i = 0; i < 8000; i++) {
		pb_enc_open(&args.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
		pb_enc_u64(&args.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER,
			   s.buffer);
		pb_enc_u64(&args.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, 1);
		pb_enc_u64(&args.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID,
			   i % 20000 * 2 + 1);
		pb_enc_close(&args.enc);
	}
	put_request(&all, P_COMMIT, &args);
	attackers[1].requests = &all;
	go_on();
}

/* Connections that end at once. */
static void connections(void)
{
	has_begun();
	for (unsigned i = 0;; i++) {
		int fd;

		if (sock_connect(i % 2 ? producers : consumers, &fd) == 0)
			close(fd);
	}
}
