/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/ipc/ipc_host.h"

/*
 * RelayPort: what a relay tells of its machine, on a producer socket that offers it (ctx is the
 * service). A relay of this machine is refused: there is nothing to tell.
 */
extern const struct ipc_service relay_port_service;
