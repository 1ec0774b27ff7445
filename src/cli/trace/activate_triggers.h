/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Activates triggers, as a producer without data sources. address: of the producers' socket.
 * Returns 0, or -errno; -EINPROGRESS: no answer in time, -EPROTO: refused. */
int activate_triggers(const char *address, char **names, size_t n);
