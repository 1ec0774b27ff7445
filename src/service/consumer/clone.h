/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/ipc/ipc_host.h"

struct consumer_port;
struct session;

/*
 * CloneSession: a snapshot of a session becomes a session of the consumer that asks, to be read
 * only. The source goes on.
 *
 *	asked --> flush of transfer_on_clone buffers --> moved  --+--> all there: new session, reply
 *	     \--> flush of the others -----------------> copied --+
 *
 * Of a session that writes into a file the clone is a file as well, which the consumer passes: what
 * the source has written, and after it what is in the buffers, all of one moment. It is written from
 * the loop before the reply.
 *
 * A clone that is on its way is known to the source, which may end first, and to the consumer,
 * which may hang up first.
 */
int clone_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);

/* The file of the consumer's clone is written, or cannot be. */
void clone_is_written(struct consumer_port *c);
/* The consumer's session goes before its file is written: the call is rejected. */
void clone_give_up_file(struct consumer_port *c);
/* The consumer wants the clone that is on its way no more; it is rejected. */
void clone_cancel(struct consumer_port *c);
