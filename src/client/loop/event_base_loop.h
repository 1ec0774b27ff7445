/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;
struct io_loop;

/* A client's loop that runs inside a libevent loop, for sonda's programs. Returns NULL if there is
 * no memory or no descriptor. base is borrowed until the free. */
struct io_loop *event_base_loop_new(struct event_base *base);
/* Call when all that was added to the loop is removed; also from one of its callbacks. No-op for
 * NULL. */
void event_base_loop_free(struct io_loop *l);
