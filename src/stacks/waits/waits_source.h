/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.waits: why threads wait, in which code, and which threads wake them
 * (docs/reference/waits.md). */
extern const struct data_source waits_data_source;
