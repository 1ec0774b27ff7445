/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;
struct io_loop;

/* A client's loop that runs inside a libevent loop, for sonda's programs. Returns NULL if there is
 * no memory or no descriptor. base is borrowed until the free. */
struct io_loop *event_base_loop_new(struct event_base *base);
/* Frees the loop. Call it after everything that was added to the loop was removed; a callback of
 * the loop may call it. No-op for NULL. */
void event_base_loop_free(struct io_loop *l);
