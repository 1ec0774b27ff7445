/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_DATA_SOURCE_H
#define SONDA_DATA_SOURCE_H

#include <sonda/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A custom data source: a name that a TraceConfig can select, and packets of this process.
 *
 *	static struct sonda_data_source ds = SONDA_DATA_SOURCE_INIT;
 *
 *	sonda_data_source_register(&ds, &options);	// once
 *	...
 *	SONDA_TRACE (&ds, w) {				// any thread, for each session that records
 *		struct sonda_packet *p = sonda_packet_begin(w);
 *		sonda_packet_u64(p, 8, sonda_now());
 *		...
 *		sonda_packet_end(w);
 *	}
 *
 * Each session that selects the source has an instance of it. At most SONDA_MAX_INSTANCES exist at
 * once. Each thread has its own writer (a packet sequence) for each instance.
 */

#define SONDA_MAX_INSTANCES 8

struct sonda_source; /* the library's part of a data source */

struct sonda_data_source {
	uint32_t enabled; /* bit i: instance i records. Only the library writes it */
	uint32_t reserved;
	struct sonda_source *source; /* NULL: not registered */
};
#define SONDA_DATA_SOURCE_INIT                                                                     \
	{                                                                                          \
		0, 0, NULL                                                                         \
	}

/* ---- life of an instance ---- */

/* Describes a new instance; valid during on_setup. */
struct sonda_setup {
	const void *config; /* DataSourceConfig, serialized */
	size_t config_len;
	uint64_t session_id;
	unsigned instance; /* 0..SONDA_MAX_INSTANCES - 1: its bit in `enabled` */
};

/* A stop or a flush that must be answered. */
struct sonda_answer;

/*
 * All callbacks are optional. The library's thread calls them, one after another. They must not
 * block, because no data is sent meanwhile. They may trace. `instance` is the result of on_setup.
 *
 *	on_setup -> on_start -> (on_flush | on_clear)* -> on_stop -> on_destroy
 *	on_setup -> on_destroy				(a session that never starts)
 *
 * This struct never grows: later callbacks will be members of the options.
 */
struct sonda_data_source_callbacks {
	/* Returns 0, and may set *ret_instance; or -errno. After an error, the instance records
	 * nothing, and no other callback is called for it. */
	int (*on_setup)(void *ctx, const struct sonda_setup *setup, void **ret_instance);
	/* The instance starts: its bit in `enabled` is set after the return. */
	void (*on_start)(void *ctx, void *instance);
	/* The instance records until the stop is answered: when the callback returns, or later with
	 * sonda_answer_send() if the callback has called sonda_answer_later(). The service waits
	 * for the answer for 5 s. */
	void (*on_stop)(void *ctx, void *instance, struct sonda_answer *answer);
	/* Writes the data that the source still holds. Writers need no flush: after the answer, the
	 * library sends the data of all threads. flags: FlushFlags of the protocol. */
	void (*on_flush)(void *ctx, void *instance, uint64_t flags, struct sonda_answer *answer);
	/* The service requests a new incremental state. sonda_writer_was_cleared() then returns
	 * true once for each writer. */
	void (*on_clear)(void *ctx, void *instance);
	/* No thread uses the instance any more. */
	void (*on_destroy)(void *ctx, void *instance);
	/* Called before a thread state is freed, when the thread or the instance ends, on that
	 * thread or the library's. */
	void (*on_thread_state_free)(void *ctx, void *state);
};

/* Call sonda_answer_later() in on_stop or on_flush to delay the answer. Then sonda_answer_send()
 * must be called once, by any thread. */
void sonda_answer_later(struct sonda_answer *answer);
void sonda_answer_send(struct sonda_answer *answer);

/* What happens to a packet for which the shared memory has no room. */
enum sonda_full_policy {
	SONDA_FULL_DEFAULT, /* from the session's config; default: SONDA_FULL_DROP */
	SONDA_FULL_DROP, /* the packet is dropped and counted */
	/* The thread waits for the service for some seconds, and then drops packets until there is
	 * room again. The process is never aborted. */
	SONDA_FULL_STALL,
};

struct sonda_data_source_options {
	size_t size; /* sizeof(struct sonda_data_source_options) */
	const char *name; /* copied */
	const struct sonda_data_source_callbacks *callbacks; /* copied; NULL: none */
	void *ctx;
	/* Zeroed memory for each thread in each instance: sonda_writer_state(). */
	size_t thread_state_size;
	enum sonda_full_policy full_policy;
	/* The source has an incremental state, which the service may clear. */
	bool handles_incremental_state_clear;
	/* Further fields of the DataSourceDescriptor, such as track_event_descriptor: serialized,
	 * and copied. The library itself writes the name, the id and the flags for stop, start and
	 * clear. */
	const void *descriptor;
	size_t descriptor_len;
};

/* Registers a data source with every backend, including those of a later sonda_init(). ds must stay
 * valid until it is unregistered. Returns 0; -EEXIST: the name or ds is registered already;
 * -ENOSPC: the process has 64 data sources; -EINVAL; -ENOMEM. */
int sonda_data_source_register(struct sonda_data_source *ds,
			       const struct sonda_data_source_options *options);
/* Replaces the further fields of the descriptor and updates the services. Returns 0, -ENOENT or
 * -ENOMEM. */
int sonda_data_source_update(struct sonda_data_source *ds, const void *descriptor, size_t len);
/* Ends all instances (on_stop cannot delay that), and waits until no callback runs and no thread
 * uses ds. Do not call it from a callback. No-op if ds is not registered. */
void sonda_data_source_unregister(struct sonda_data_source *ds);

/* ---- packets ---- */

/* The calling thread's writer for one instance. */
struct sonda_writer;

/* Returns bit 1 << i for each instance i that records now. Costs one load. */
static inline uint32_t sonda_data_source_enabled(const struct sonda_data_source *ds)
{
	return __atomic_load_n(&ds->enabled, __ATOMIC_RELAXED);
}

/* Enters an instance and returns the calling thread's writer, which is made on first use. Returns
 * NULL if the instance does not record (any more), this thread is inside another SONDA_TRACE (as in
 * a signal handler or an allocator's hook), or there is no memory. If the writer exists and has
 * room, no lock and no system call is used. Between enter and leave the instance cannot end. */
struct sonda_writer *sonda_writer_enter(struct sonda_data_source *ds, unsigned instance);
void sonda_writer_leave(struct sonda_writer *w);

/* A writer has one open packet at a time. */
struct sonda_packet *sonda_packet_begin(struct sonda_writer *w);
void sonda_packet_end(struct sonda_writer *w);

/* Returns true if readers do not have the definitions (interned names, deltas) of earlier packets
 * of this writer: the writer is new, the service requested a clear, or packets were dropped and
 * there is room again. The next call returns false. The following packets must repeat all
 * definitions, the first of them with sequence_flags 1. */
bool sonda_writer_was_cleared(struct sonda_writer *w);
/* Returns thread_state_size bytes, which were zeroed when the writer was made; NULL if the size is
 * 0. */
void *sonda_writer_state(struct sonda_writer *w);
/* Returns the result of on_setup. */
void *sonda_writer_instance(struct sonda_writer *w);
/* Sends the packets written so far with the next commit. */
void sonda_writer_flush(struct sonda_writer *w);

/* Returns how many packets of this source were dropped since it was registered. */
uint64_t sonda_data_source_dropped(struct sonda_data_source *ds);

/* CLOCK_BOOTTIME in nanoseconds, the default clock of packets. */
uint64_t sonda_now(void);

/* ---- SONDA_TRACE ---- */

struct sonda_iterator {
	struct sonda_data_source *ds;
	uint32_t left; /* instances that were not visited */
	struct sonda_writer *writer;
};

static inline void sonda_iterator_next(struct sonda_iterator *it)
{
	if (it->writer)
		sonda_writer_leave(it->writer);
	it->writer = NULL;
	while (it->left && !it->writer) {
		unsigned i = (unsigned)__builtin_ctz(it->left);

		it->left &= it->left - 1;
		it->writer = sonda_writer_enter(it->ds, i);
	}
}

static inline struct sonda_iterator sonda_iterator_begin(struct sonda_data_source *ds)
{
	struct sonda_iterator it = {ds, sonda_data_source_enabled(ds), NULL};

	if (__builtin_expect(it.left != 0, 0))
		sonda_iterator_next(&it);
	return it;
}

static inline void sonda_iterator_end(struct sonda_iterator *it)
{
	if (it->writer)
		sonda_writer_leave(it->writer);
}

/* Runs the statement once for each instance that records, with w as its writer. break and continue
 * go on to the next instance; return and goto may leave the statement. longjmp() and exceptions
 * from C code may not. */
#define SONDA_TRACE(data_source, w)                                                                \
	for (struct sonda_iterator w##_iterator                                                    \
	     __attribute__((cleanup(sonda_iterator_end))) = sonda_iterator_begin(data_source);     \
	     w##_iterator.writer; sonda_iterator_next(&w##_iterator))                              \
		for (struct sonda_writer *w = w##_iterator.writer; w; w = NULL)

#ifdef __cplusplus
}
#endif

#endif
