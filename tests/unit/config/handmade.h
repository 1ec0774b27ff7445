/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>

/*
 * A message with what no message of protos/ has, as protoc-c would have made it of:
 *
 *	message Handmade {
 *	  required uint32 must = 1;
 *	  optional string word = 2 [default = "preset"];
 *	  optional bytes raw = 3 [default = "\1\2"];
 *	  uint32 plain = 4;        // these two as in proto3
 *	  string line = 5;
 *	  oneof one { string text = 6; double number = 7; Handmade sub = 8; }
 *	  repeated bytes blobs = 9;
 *	  required string name = 10;
 *	}
 */
struct handmade {
	ProtobufCMessage base;
	uint32_t must;
	char *word;
	protobuf_c_boolean has_raw;
	ProtobufCBinaryData raw;
	uint32_t plain;
	char *line;
	uint32_t one_case;
	union {
		char *text;
		double number;
		struct handmade *sub;
	};
	size_t n_blobs;
	ProtobufCBinaryData *blobs;
	char *name;
};

static char handmade_preset[] = "preset";
static uint8_t handmade_raw_bytes[] = {1, 2};
static const ProtobufCBinaryData handmade_raw = {2, handmade_raw_bytes};
static const ProtobufCMessageDescriptor handmade_type;

#define HANDMADE_FIELD(name_, id_, label_, type_, quantifier_, sub_, preset_, flags_)              \
	{                                                                                          \
		.name = #name_, .id = id_, .label = PROTOBUF_C_LABEL_##label_,                     \
		.type = PROTOBUF_C_TYPE_##type_, .quantifier_offset = quantifier_,                 \
		.offset = offsetof(struct handmade, name_), .descriptor = sub_,                    \
		.default_value = preset_, .flags = flags_                                          \
	}
#define HANDMADE_ONEOF offsetof(struct handmade, one_case)

static const ProtobufCFieldDescriptor handmade_fields[] = {
	HANDMADE_FIELD(must, 1, REQUIRED, UINT32, 0, NULL, NULL, 0),
	HANDMADE_FIELD(word, 2, OPTIONAL, STRING, 0, NULL, handmade_preset, 0),
	HANDMADE_FIELD(raw, 3, OPTIONAL, BYTES, offsetof(struct handmade, has_raw), NULL,
		       &handmade_raw, 0),
	HANDMADE_FIELD(plain, 4, NONE, UINT32, 0, NULL, NULL, 0),
	HANDMADE_FIELD(line, 5, NONE, STRING, 0, NULL, &protobuf_c_empty_string, 0),
	HANDMADE_FIELD(text, 6, OPTIONAL, STRING, HANDMADE_ONEOF, NULL, NULL,
		       PROTOBUF_C_FIELD_FLAG_ONEOF),
	HANDMADE_FIELD(number, 7, OPTIONAL, DOUBLE, HANDMADE_ONEOF, NULL, NULL,
		       PROTOBUF_C_FIELD_FLAG_ONEOF),
	HANDMADE_FIELD(sub, 8, OPTIONAL, MESSAGE, HANDMADE_ONEOF, &handmade_type, NULL,
		       PROTOBUF_C_FIELD_FLAG_ONEOF),
	HANDMADE_FIELD(blobs, 9, REPEATED, BYTES, offsetof(struct handmade, n_blobs), NULL, NULL,
		       0),
	HANDMADE_FIELD(name, 10, REQUIRED, STRING, 0, NULL, NULL, 0),
};

/* By name: blobs line must name number plain raw sub text word */
static const unsigned handmade_by_name[] = {8, 4, 0, 9, 6, 3, 2, 7, 5, 1};
static const ProtobufCIntRange handmade_ranges[] = {{1, 0}, {0, 10}};

static void handmade_init(ProtobufCMessage *m)
{
	*(struct handmade *)m = (struct handmade){
		.base = PROTOBUF_C_MESSAGE_INIT(&handmade_type),
		.word = handmade_preset,
		.raw = handmade_raw,
		.line = (char *)protobuf_c_empty_string,
	};
}

static const ProtobufCMessageDescriptor handmade_type = {
	.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
	.name = "test.Handmade",
	.short_name = "Handmade",
	.c_name = "Handmade",
	.package_name = "test",
	.sizeof_message = sizeof(struct handmade),
	.n_fields = 10,
	.fields = handmade_fields,
	.fields_sorted_by_name = handmade_by_name,
	.n_field_ranges = 1,
	.field_ranges = handmade_ranges,
	.message_init = handmade_init,
};

#define HANDMADE(name_) protobuf_c_message_descriptor_get_field_by_name(&handmade_type, #name_)
