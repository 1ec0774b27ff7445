/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/calls/call_table.h"
#include "base/core/err.h"
#include "base/core/hash_table.h"
#include "base/text/str.h"
#include "bpf/calls.h"
#include "client/producer/data_source.h"
#include "client/producer/metadata_bus.h"
#include "ebpf/calls/calls_config.h"
#include "ebpf/calls/calls_program.h"

/*
 * One instance of linux.syscalls: what the files of this directory share.
 *
 *	calls_source.c    its lifetime, and when it reads
 *	calls_config.c    its config
 *	calls_program.c   the BPF programs and their maps
 *	calls_packets.c   turns records of the programs into packets
 */
#define CALLS_THREADS_MAX 65536 /* known threads; one more removes all of them */

/* A thread with calls. */
struct calls_thread {
	struct {
		uint32_t pid, tid;
	} key;
	UT_hash_handle hh;
	uint32_t written; /* the generation in which its track was described */
	char comm[CALLS_NAME]; /* in that description */
	/* Pieces of the call that has begun. */
	uint8_t *pieces; /* owned */
	size_t n_pieces, cap_pieces; /* bytes */
	uint32_t sequence; /* of that call */
};

struct calls_session {
	struct ds_handle *h; /* borrowed, as are the next three */
	struct event_base *loop;
	struct metadata_bus *bus;
	const char *tracefs_root;
	bool is_publisher; /* of the threads with calls, for linux.process_stats */
	struct calls_config config;
	const struct call_row *rows[CALLS_SPECS]; /* by index of a spec; NULL: unknown */
	struct calls_program *program; /* owned; NULL: it does not run */
	struct event *program_wakeup; /* owned */
	struct event *tick; /* owned */
	struct writer *writer; /* owned */

	struct calls_thread *threads; /* owned */
	uint32_t generation; /* of the incremental state; 0: there is none */
	uint32_t generations; /* number of generations so far */
	uint32_t names_written[CALLS_OTHER]; /* the generation */
	struct strbuf text; /* of one argument */
	int32_t *tids; /* owned; the threads to publish after this batch */
	size_t n_tids, cap_tids;

	bool is_started, is_stopping;
	size_t left; /* records until a flush or the stop stops waiting for an empty ring */
	uint64_t measure_due; /* CLOCK_BOOTTIME */
	int refusal; /* why it does not record, -errno; 0: it records */
	struct err_text refused;
	struct flushes flushes;
	uint64_t n_written; /* calls */
	uint64_t n_texts_lost; /* invalid pieces, and pieces of calls whose thread was removed */
	struct calls_counts counts; /* when the programs were removed */
};

/* Handles a record of the ring. */
void calls_packets_add_record(struct calls_session *s, const void *record, size_t size);
/* Writes a call that has not ended. */
void calls_packets_write_open_call(struct calls_session *s, const struct call_record *r);
/* Publishes the threads of the records since the last call. */
void calls_packets_publish_tids(struct calls_session *s);
/* Writes losses and cost. */
void calls_packets_write_stats(struct calls_session *s);
void calls_packets_free_threads(struct calls_session *s);
