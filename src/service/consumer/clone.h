/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/ipc/ipc_host.h"

struct consumer_port;
struct session;

/*
 * CloneSession: a snapshot of a session becomes the session of the calling consumer. That session
 * can only be read. The source continues.
 *
 *	call --> flush of transfer_on_clone buffers --> moved  --+--> all there: new session, reply
 *	    \--> flush of the others -----------------> copied --+
 *
 * The clone of a session that writes into a file is a file as well, which the consumer passes. It
 * contains the data that the source has written so far, followed by that of the buffers, as of one
 * moment. Its writer thread writes it before the reply.
 *
 * Both the source and the consumer may end before the clone is complete; either cancels it.
 */
int clone_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);

/* Call when the file of the consumer's clone is complete or has failed. Answers the CloneSession
 * call that waits for it. */
void clone_on_file_written(struct consumer_port *c);
/* Call when the consumer's session is freed or detached. Rejects the CloneSession call that waits
 * for the session's file, if any. */
void clone_reject_waiting_call(struct consumer_port *c);
/* Cancels a clone in progress and rejects its call. */
void clone_cancel(struct consumer_port *c);
