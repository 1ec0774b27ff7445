/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/transport/writer.h"
#include "lib/data_source/packet.h"
#include "lib/data_source/source.h"
#include "lib/threads/thread.h"

/* The writer of one thread in one instance. Used by that thread when it is inside, and by others
 * that have claimed the thread. */
struct sonda_writer {
	struct sonda_packet packet;
	struct writer *w; /* owned */
	struct thread *thread;
	struct instance *instance;
	uint32_t clears; /* of the instance, when the state was cleared last */
	bool cleared; /* sonda_writer_was_cleared() says so next */
	bool lost; /* packets were dropped since then */
	uint64_t dropped; /* of w, as far as it is in the source's sum */
	_Alignas(16) uint8_t state[]; /* the source's thread_state_size */
};

/* Frees a thread's writer of the instance, if it has one; the thread is claimed. */
void event_writer_free(struct thread *t, struct instance *in);
/* Frees all writers of a thread that ends. */
void event_writers_free(struct thread *t);
/* Hands its chunk over; the thread is claimed. */
void event_writer_flush(struct thread *t, struct instance *in);
