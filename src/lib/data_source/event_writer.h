/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/transport/writer.h"
#include "lib/data_source/packet.h"
#include "lib/data_source/source.h"
#include "lib/threads/thread.h"

/* The writer of one thread in one instance. That thread uses it while the thread is inside
 * (lib/threads/thread.h); other threads while they have claimed the thread. */
struct sonda_writer {
	struct sonda_packet packet;
	struct writer *w; /* owned */
	struct thread *thread;
	struct instance *instance;
	uint32_t clears; /* instance's number of clears when the state was last cleared */
	bool cleared; /* result of the next sonda_writer_was_cleared() */
	bool lost; /* packets were dropped since the last sonda_writer_was_cleared() */
	uint64_t dropped; /* dropped packets that the source's sum includes */
	_Alignas(16) uint8_t state[]; /* the source's thread_state_size */
};

/* Frees a thread's writer of the instance, if it has one. The thread must be claimed. */
void event_writer_free(struct thread *t, struct instance *in);
/* Frees all writers of a thread that ends. */
void event_writers_free(struct thread *t);
/* Passes the open chunk of the thread's writer to the arbiter. The thread must be claimed. */
void event_writer_flush(struct thread *t, struct instance *in);
