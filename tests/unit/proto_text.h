/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "config/text.h"
#include "unit/test.h"

/* Messages of protobuf-c, written and compared in protobuf's text format. */

/* Parses the text; the caller frees the message with protobuf_c_message_free_unpacked. */
static inline ProtobufCMessage *proto_parse(const ProtobufCMessageDescriptor *type,
					    const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m = NULL;

	if (text_parse(type, "test", text, strlen(text), &errors, &m))
		fail_msg("%s", errors.s);
	strbuf_deinit(&errors);
	return m;
}

/* The message has the fields of the text, these values and no others. */
static inline void assert_proto(const ProtobufCMessage *got, const char *expected)
{
	ProtobufCMessage *m = proto_parse(got->descriptor, expected);
	struct strbuf a = {0}, b = {0};

	text_print(got, &a);
	text_print(m, &b);
	assert_string_equal(a.s ? a.s : "", b.s ? b.s : "");
	strbuf_deinit(&a);
	strbuf_deinit(&b);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* The same of a message that is packed. */
static inline void assert_packed_proto(const ProtobufCMessageDescriptor *type, const void *data,
				       size_t len, const char *expected)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, len, data);

	assert_non_null(m);
	assert_proto(m, expected);
	protobuf_c_message_free_unpacked(m, NULL);
}
