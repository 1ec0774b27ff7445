/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/ipc/ipc_host.h"

/* RelayPort: receives the system info and the clocks of the machine of a relay, on a producer
 * socket that offers it. ctx is struct remote_machines. A relay of this machine is refused. */
extern const struct ipc_service relay_port_service;
