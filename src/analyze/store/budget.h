/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The memory that one import may take. */
struct budget {
	uint64_t used, limit; /* bytes */
	int error; /* 0, -ENOMEM, or -EFBIG: over the limit */
};

/* Takes bytes out of the budget. Returns false if the budget has an error already, or if the bytes
 * are not left: the error is -EFBIG then. */
bool budget_take(struct budget *b, uint64_t bytes);
