/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct producer_port;
struct session;

/* session.h has session_flush(), which begins a flush. */

/* The producer has flushed for this request and all earlier ones, in any session. */
void flush_acked(struct producer_port *p, uint64_t flush_id);
/* The producer disconnected: flushes stop waiting for it. */
void flush_forget_producer(struct producer_port *p);
/* The session ends: calls done(false) for all requests. */
void flush_cancel_all(struct session *s);
