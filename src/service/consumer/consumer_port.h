/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/consumer/consumer_state.h"
#include "service/ipc/ipc_host.h"

extern const struct ipc_service consumer_port_service;

/* Detaches the session, which continues without a consumer. On success, rejects the consumer's
 * pending ReadBuffers, CloneSession and Flush. Returns as session_detach(). */
int consumer_port_detach_session(struct consumer_port *c, const char *key);

/* ---- consumer_requests.c ---- */

int detach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);
int attach_call(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);
int change_config_call(void *endpoint, const struct ipc_call *call, const uint8_t *args,
		       size_t len);

/* ---- query.c ---- */

int query_service_state(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len);
int query_capabilities(void *endpoint, const struct ipc_call *call, const uint8_t *args,
		       size_t len);
