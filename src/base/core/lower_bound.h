/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Binary search. Returns the first index from `begin` to `end` for which is_before, an expression
 * of the index i, is false; or `end`. is_before must be true for every index before the result and
 * false from there on.
 *
 *	at = LOWER_BOUND(i, 0, n, times[i] < ts);
 */
#define LOWER_BOUND(i, begin, end, is_before)                                                      \
	({                                                                                         \
		__typeof__((end) + 0) low_ = (begin), high_ = (end);                               \
                                                                                                   \
		while (low_ < high_) {                                                             \
			__typeof__((end) + 0) i = low_ + (high_ - low_) / 2;                       \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})
