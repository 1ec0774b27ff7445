/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct pb_enc;
struct session;

/*
 * Writes the fields of a TraceStats: of the service, the session, its buffers, and of each writer
 * while the message is shorter than max_bytes.
 */
void stats_put(struct session *s, struct pb_enc *e, size_t max_bytes);
