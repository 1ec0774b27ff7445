/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/quota.h"
#include "service/producer/registry.h"
#include "service/buffer/trace_buffer.h"
#include "wire/smb_layout.h"

struct flush_wait;
struct producers;
struct source_instance;

TAILQ_HEAD(instance_list, source_instance); /* of a session, or of a producer */

/*
 * One connected producer: who it is, the memory shared with it, which buffers it may write to, and
 * the commands that go to it. Everything it says is checked before it is believed.
 *
 *	producer_port.c      the methods it calls
 *	producer_commit.c    CommitData, the one on the hot path
 *	producer_memory.c    the shared memory
 *	producer_commands.c  what it is told to do
 */

/* A buffer that the producer may write to: given with SetupDataSource, taken back with the
 * session. */
struct buffer_grant {
	uint16_t buffer_id;
	struct trace_buffer *buffer; /* borrowed from the session */
};

struct producer_port {
	TAILQ_ENTRY(producer_port) link; /* in struct producers, once initialized */
	struct producers *producers; /* borrowed: it outlives us */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	bool initialized; /* InitializeConnection was accepted */
	uint16_t id; /* 1..65535 */
	const struct ipc_peer *peer; /* borrowed: of the connection */
	char *name; /* owned */
	char *sdk_version; /* owned */
	bool wants_scraping; /* of what its writers have not committed */

	/* The shared memory; base is NULL until there is one. A remote producer has none: its
	 * chunks come in CommitData, and of all this it has a page size. */
	struct smb smb;
	size_t smb_size;
	int smb_fd; /* -1 once it was sent, and for the producer's own */
	uint32_t size_hint, page_size_hint; /* bytes */
	uint32_t emulated_page_size; /* of a remote producer; 0: no session has wanted it yet */

	struct buffer_grant *grants; /* owned */
	size_t n_grants, grants_cap;
	/* By writer id, which buffer it registered for; 0: none. Grown as far as ids were used. */
	uint16_t *writer_buffers; /* owned */
	size_t n_writers;

	struct source_offer offer;
	struct instance_list instances; /* of all sessions, borrowed from them */
	/* What it has not acknowledged yet, of all sessions, in the order of the requests; borrowed from
	 * the flushes. */
	TAILQ_HEAD(, flush_wait) flush_waits;
	struct quota_account account;

	/* GetAsyncCommand: the stream that the commands take */
	struct ipc_call commands;
	bool has_commands;
	bool setup_tracing_sent;
	bool setup_tracing_due; /* for when the stream is there */
};

extern const struct ipc_service producer_port_service;

/* ---- producer_memory.c ---- */

/* Takes the memory that the producer offers (and fd) if it is safe and of legal geometry. */
bool producer_memory_adopt(struct producer_port *p, int fd);
/* Makes sure that there is one, sized by the config's producers and by the hints; for a remote
 * producer, that it has a page size. 0 or -errno. */
int producer_memory_ensure(struct producer_port *p, const Pb__TraceConfig *config);
/* Is there something that data can come through? */
bool producer_memory_is_ready(const struct producer_port *p);
void producer_memory_deinit(struct producer_port *p);

/* ---- grants and writers ---- */

/* 0 or -ENOMEM. */
int producer_port_grant(struct producer_port *p, uint16_t buffer_id, struct trace_buffer *buffer);
/* The buffer is another one now. No effect on who may not write there. */
void producer_port_regrant(struct producer_port *p, uint16_t buffer_id,
			   struct trace_buffer *buffer);
void producer_port_revoke(struct producer_port *p, uint16_t buffer_id);
/* NULL when it may not write there. */
struct trace_buffer *producer_port_buffer(const struct producer_port *p, uint32_t buffer_id);
/* Whose a chunk is. */
struct trace_buffer_writer producer_port_writer(const struct producer_port *p, uint16_t writer_id);
/* The buffer that a writer registered for; 0: it did not. */
uint16_t producer_port_writer_buffer(const struct producer_port *p, uint16_t writer_id);

/* ---- producer_commit.c ---- */

int producer_port_commit_data(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			      size_t len);

/* ---- scrape.c ---- */

/* Commits what the producer wrote into its shared memory and did not commit, to those of its buffers
 * that includes() accepts (NULL: all). No effect unless the producer asked to be scraped. A chunk
 * that is committed later comes to its buffer a second time. */
void producer_port_scrape(const struct producer_port *p,
			  bool (*includes)(void *ctx, uint16_t buffer_id), void *ctx);

/* ---- producer_commands.c: sent at once, lost when there is no stream yet ---- */

void producer_port_send_setup_tracing(struct producer_port *p);
/* config is packed. */
void producer_port_send_setup(struct producer_port *p, uint64_t instance_id, const void *config,
			      size_t len);
void producer_port_send_start(struct producer_port *p, uint64_t instance_id, const void *config,
			      size_t len);
void producer_port_send_stop(struct producer_port *p, uint64_t instance_id);
void producer_port_send_flush(struct producer_port *p, const uint64_t *instance_ids, size_t n,
			      uint64_t flush_id, uint64_t flags);
void producer_port_send_clear(struct producer_port *p, const uint64_t *instance_ids, size_t n);
