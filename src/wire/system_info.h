/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/pb_enc.h"

/* Writes the SystemInfo fields that every machine has: uname(2), page size, time zone, processors,
 * memory. The caller opens and closes the message. */
void system_info_put(struct pb_enc *e);
