/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/buffer/trace_buffer.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/quota.h"
#include "service/producer/producers.h"
#include "wire/smb_layout.h"

struct flush_wait;
struct producers;
struct source_instance;

TAILQ_HEAD(instance_list, source_instance); /* of a session, or of a producer */

/*
 * One connected producer: its identity, the memory shared with it, the buffers it may write to, and
 * the commands sent to it. All its requests are checked before use.
 *
 * A file calls only those above it:
 *
 *	producer_memory.c    the shared memory, the buffers and their writers
 *	producer_commands.c  the commands of the service
 *	producer_commit.c    CommitData, the method on the hot path; scraping
 *	producer_port.c      the other methods that it calls
 */

/* A buffer that the producer may write to: granted with SetupDataSource, revoked when the session
 * ends. */
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
	bool reads_consumer_uid; /* it gets fields that only sonda has */
	bool wants_scraping; /* chunks that it has not committed may be read */

	/* The shared memory; base is NULL until it exists. A remote producer has a page size only:
	 * its chunks arrive in CommitData. */
	struct smb smb;
	size_t smb_size;
	int smb_fd; /* -1 after it was sent, and if the producer provided the memory */
	uint32_t size_hint, page_size_hint; /* bytes */
	uint32_t emulated_page_size; /* of a remote producer; 0: not set up yet */

	struct buffer_grant *grants; /* owned */
	size_t n_grants, grants_cap;
	/* The registered buffer of each writer id; 0: none. */
	uint16_t *writer_buffers; /* owned */
	size_t n_writers;

	struct source_offer offer;
	struct instance_list instances; /* of all sessions, borrowed from them */
	/* The flushes of all sessions that it has not acknowledged, in the order of the requests.
	 * Borrowed from the flushes. */
	TAILQ_HEAD(, flush_wait) flush_waits;
	struct quota_account account;

	/* GetAsyncCommand: the stream of commands */
	struct ipc_call commands;
	bool has_commands;
	bool setup_tracing_sent;
	bool setup_tracing_due; /* to send when the stream begins */
};

extern const struct ipc_service producer_port_service;

/* ---- the shared memory (producer_memory.c) ---- */

/* Maps the memory of fd, which the producer passed, if it is safe and of a legal size. fd stays the
 * caller's. Returns false if it is refused. */
bool producer_memory_adopt(struct producer_port *p, int fd);
/* Creates the memory, or sets the page size of a remote producer, if it has none. The size is that
 * of the config, if its consumer (uid) may choose it, else of the hints. Returns 0 or -errno. */
int producer_memory_ensure(struct producer_port *p, const Pb__TraceConfig *config, uid_t uid);
/* Returns true if the producer can send data. */
bool producer_memory_is_ready(const struct producer_port *p);
void producer_memory_deinit(struct producer_port *p);

/* ---- the buffers of a producer, and its writers (producer_memory.c) ---- */

/* Allows the producer to write to the buffer, unless it may already. Returns 0 or -ENOMEM. */
int producer_buffers_grant(struct producer_port *p, uint16_t buffer_id,
			   struct trace_buffer *buffer);
/* Replaces the buffer of a grant. No-op without a grant. */
void producer_buffers_replace_granted(struct producer_port *p, uint16_t buffer_id,
				      struct trace_buffer *buffer);
void producer_buffers_revoke(struct producer_port *p, uint16_t buffer_id);
/* Returns the buffer, or NULL if the producer has no grant for it. */
struct trace_buffer *producer_buffers_find(const struct producer_port *p, uint32_t buffer_id);

/* Sets the buffer of a writer. Returns 0 or -errno. */
int producer_buffers_add_writer(struct producer_port *p, uint16_t writer_id, uint16_t buffer_id);
/* Ends a writer in its buffer: the buffer no longer waits for the rest of a packet, and accepts the
 * chunks of a later writer with the same id. writer_id is below n_writers. */
void producer_buffers_end_writer(struct producer_port *p, uint16_t writer_id);
/* Returns the buffer that a writer registered; 0: none. */
uint16_t producer_buffers_registered_id(const struct producer_port *p, uint16_t writer_id);
/* Returns the identity of a writer, for its chunks. */
struct trace_buffer_writer producer_buffers_identity(const struct producer_port *p,
						     uint16_t writer_id);
void producer_buffers_deinit(struct producer_port *p);

/* ---- producer_commit.c ---- */

int producer_commit_data(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len);

/* Commits uncommitted chunks of the shared memory to the buffers that includes() accepts (NULL:
 * all). No-op unless the producer enabled scraping. When the producer commits such a chunk later,
 * the buffer stores only what is new in it. */
void producer_commit_scrape(const struct producer_port *p,
			    bool (*includes)(void *ctx, uint16_t buffer_id), void *ctx);

/* ---- producer_commands.c ---- */

/*
 * A command is sent at once. Before the producer has called GetAsyncCommand, a command is dropped;
 * only SetupTracing is sent when that call comes.
 */

void producer_port_send_setup_tracing(struct producer_port *p);
/* config: a packed DataSourceConfig. */
void producer_port_send_setup_instance(struct producer_port *p, uint64_t instance_id,
				       const void *config, size_t len);
void producer_port_send_start(struct producer_port *p, uint64_t instance_id, const void *config,
			      size_t len);
void producer_port_send_stop(struct producer_port *p, uint64_t instance_id);
void producer_port_send_flush(struct producer_port *p, const uint64_t *instance_ids, size_t n,
			      uint64_t flush_id, uint64_t flags);
void producer_port_send_clear_incremental_state(struct producer_port *p,
						const uint64_t *instance_ids, size_t n);
