/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_PACKET_H
#define SONDA_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The packet encoder: writes the fields of one protobuf message, usually a TracePacket, directly
 * into the shared memory. Field numbers are those of Perfetto's public .proto files.
 *
 *	sonda_packet_u64(p, 8, now);			// TracePacket.timestamp
 *	sonda_packet_open(p, 900);			// TracePacket.for_testing
 *	sonda_packet_str(p, 1, "hello");
 *	sonda_packet_close(p);
 *
 * No function fails, allocates or locks. If the shared memory is full the packet is dropped and
 * counted as a whole. Strings are not validated. Open messages nest at most SONDA_PACKET_MAX_DEPTH
 * deep; a deeper message is left out, with all its fields.
 */
struct sonda_packet;

#define SONDA_PACKET_MAX_DEPTH 12

/* uint32, uint64, enum, and non-negative int32 and int64. */
void sonda_packet_u64(struct sonda_packet *p, uint32_t field, uint64_t value);
/* int32 and int64; a negative value takes 10 bytes. */
void sonda_packet_i64(struct sonda_packet *p, uint32_t field, int64_t value);
/* sint32 and sint64. */
void sonda_packet_sint(struct sonda_packet *p, uint32_t field, int64_t value);
void sonda_packet_bool(struct sonda_packet *p, uint32_t field, bool value);
void sonda_packet_double(struct sonda_packet *p, uint32_t field, double value);
void sonda_packet_float(struct sonda_packet *p, uint32_t field, float value);
/* fixed32, sfixed32, fixed64, sfixed64. */
void sonda_packet_fixed32(struct sonda_packet *p, uint32_t field, uint32_t value);
void sonda_packet_fixed64(struct sonda_packet *p, uint32_t field, uint64_t value);
/* string: text ends at the NUL. */
void sonda_packet_str(struct sonda_packet *p, uint32_t field, const char *text);
/* bytes, string, an encoded message, or a packed field. data may be NULL if len is 0. */
void sonda_packet_bytes(struct sonda_packet *p, uint32_t field, const void *data, size_t len);
/* Appends encoded fields. */
void sonda_packet_raw(struct sonda_packet *p, const void *data, size_t len);
/* Opens a nested message; further fields belong to it until the matching close. */
void sonda_packet_open(struct sonda_packet *p, uint32_t field);
void sonda_packet_close(struct sonda_packet *p);

/* The same encoder for a message of any size in memory of its own, such as a DataSourceDescriptor
 * or a TraceConfig. These functions allocate. */
struct sonda_packet *sonda_message_new(void); /* NULL: no memory */
/* Returns the bytes, valid until the next call for p; NULL if there was no memory for a field. */
const void *sonda_message_data(struct sonda_packet *p, size_t *ret_len);
void sonda_message_free(struct sonda_packet *p); /* no-op for NULL */

#ifdef __cplusplus
}
#endif

#endif
