/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct pb_enc;

/*
 * Who handles which interrupt, as one InterruptInfo message: the numbered rows of /proc/interrupts.
 *
 * Format: protos/trace/system_info/interrupt_info.proto.
 */

/* Adds the fields of InterruptInfo. interrupts: the text of /proc/interrupts. */
void interrupt_info_encode(struct pb_enc *e, const char *interrupts, size_t len);
