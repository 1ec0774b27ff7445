/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * What TracePacket.compressed_packets (zlib's format) and zstd_compressed_packets (zstd frames)
 * hold: the bytes of Trace.packet records. Any bytes may come in.
 */

/* So much a compressed packet may hold; a service makes them of a mebibyte or less. */
#define UNPACK_MAX_BYTES (64u << 20)

/* Puts what it holds into ret (cleared first). 0, -EBADMSG (not the format, or cut off), -EFBIG or
 * -ENOMEM. field: which of the two it is. */
int unpack_packets(uint32_t field, const uint8_t *data, size_t len, struct strbuf *ret);
