/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/* A message of any size in one heap buffer. */
struct pb_mem {
	struct pb_enc enc; /* valid between init and deinit */
	uint8_t *buf; /* owned; the message is the first pb_enc_pos(&enc) bytes */
	uint8_t scratch[PB_MIN_RANGE];
	bool failed; /* memory ran out: the message is invalid. Sticky */
};

/* Returns 0 or -ENOMEM (then deinit is not required). */
int pb_mem_init(struct pb_mem *m);
void pb_mem_deinit(struct pb_mem *m);
/* Starts a new message in the same buffer. */
void pb_mem_reset(struct pb_mem *m);
static inline size_t pb_mem_len(const struct pb_mem *m)
{
	return (size_t)(m->enc.cur - m->enc.begin);
}
