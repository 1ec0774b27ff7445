/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/ipc/ipc_host.h"

/* The service for consumers. A connection is a struct consumer_port (consumer_state.h); ctx is
 * struct sessions. */
extern const struct ipc_service consumer_port_service;
