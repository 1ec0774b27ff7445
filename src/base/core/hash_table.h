/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/siphash.h"

/*
 * uthash with a keyed hash, for tables whose keys another process chooses: it cannot choose keys
 * that share a bucket. To be included in place of uthash.h, with the same options.
 */
#define HASH_FUNCTION(key, len, hashv) ((hashv) = (unsigned)siphash_keyed(key, len))

#include <uthash.h>
