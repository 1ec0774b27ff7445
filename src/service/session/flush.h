/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct producer_port;
struct session;

/* session.h has session_flush(), which begins a flush. */

/* Call when the producer has flushed for this request and so for all earlier ones, in any session.
 * A flush that waits for no other producer is done in the next iteration of the loop. */
void flush_on_ack(struct producer_port *p, uint64_t flush_id);
/* Call when the producer disconnected. Its flushes no longer wait for it. */
void flush_remove_producer(struct producer_port *p);
/* Call when the session ends. Frees its flushes, and calls done(false) for their requests. */
void flush_cancel_all(struct session *s);
