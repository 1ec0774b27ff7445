/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>

#include "wire/pb_read.h"

/* Executes the statement that follows for each field of a message, as pb_for_each() does, and
 * asserts at the end that the message is valid. */
#define for_each_valid_field(f, message)                                                           \
	for (struct pb_dec f##_dec = pb_dec_of(message), *f##_in = &f##_dec; f##_in;               \
	     assert(pb_dec_ok(f##_in)), f##_in = NULL)                                             \
		for (struct pb_field f; pb_dec_next(f##_in, &f);)
