/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "service/ipc/ipc_host.h"

/* Methods of ConsumerPort that ask for the state of the service and for what it can do. */

int query_service_state(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			size_t len);
int query_capabilities(void *endpoint, const struct ipc_call *call, const uint8_t *args,
		       size_t len);
