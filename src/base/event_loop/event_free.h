/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

/*
 * Ownership of libevent's objects. Each function frees *p and sets it to NULL; it is a no-op if *p
 * is NULL already. They fit _cleanup_(). No other file calls event_free() or event_base_free()
 * (tests/rules/test_layers.sh).
 */

static inline void event_freep(struct event **p)
{
	if (*p)
		event_free(*p);
	*p = NULL;
}

static inline void event_base_freep(struct event_base **p)
{
	if (*p)
		event_base_free(*p);
	*p = NULL;
}
