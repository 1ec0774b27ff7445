/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/consumer/consumer_state.h"
#include "service/ipc/ipc_host.h"

/* The session that a consumer owns: how the consumer gets it, and how it loses it. */

/* Returns this consumer as the owner of a session. */
struct session_owner consumer_session_owner(struct consumer_port *c);
/* Ends the session, if any. One that writes a file is detached and stopped: it frees itself when
 * its file is complete. */
void consumer_session_end(struct consumer_port *c);

/* ---- methods ---- */

int consumer_session_enable(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			    size_t len);
int consumer_session_detach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len);
int consumer_session_attach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				 size_t len);
int consumer_session_change_config(void *endpoint, const struct ipc_call *call, const uint8_t *args,
				   size_t len);
