/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session.h"

#include "base/core/clock.h"
#include "config/limits.h"

const char *session_state_name(enum session_state state)
{
	static const char *const names[] = {
		[SESSION_DISABLED] = "DISABLED",       [SESSION_CONFIGURED] = "CONFIGURED",
		[SESSION_STARTED] = "STARTED",	       [SESSION_STOPPING] = "STOP_WAIT",
		[SESSION_CLONED] = "CLONED_READ_ONLY",
	};

	return names[state];
}

void session_set_state(struct session *s, enum session_state state)
{
	s->state = state;
	s->state_boot_ns = clock_boot_ns();
	concurrent_tell(s);
}

int session_buffer_index(const struct session *s, uint16_t buffer_id)
{
	for (size_t i = 0; i < s->n_buffers; i++)
		if (s->buffers[i].id == buffer_id)
			return (int)i;
	return -1;
}

uint32_t session_flush_timeout_ms(const struct session *s)
{
	return s->config->flush_timeout_ms ? s->config->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
}

uint32_t session_stop_timeout_ms(const struct session *s)
{
	return s->config->data_source_stop_timeout_ms ? s->config->data_source_stop_timeout_ms
						      : DEFAULT_STOP_TIMEOUT_MS;
}
