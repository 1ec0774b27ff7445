/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Parts of a message that is built in place. Each part is allocated separately, as protobuf-c does
 * when it unpacks a message, and protobuf-c frees it. The message is valid at every step, so the
 * error path frees it like any other.
 */

/* Appends an element to a repeated message field. Returns NULL if memory is out. */
void *message_add_submessage(size_t *n, void *list, const ProtobufCMessageDescriptor *type);

/* Set a string field that is not set, and append to a repeated one. Return 0 or -ENOMEM. */
int message_set_string(char **field, const char *s);
int message_add_string(size_t *n, char ***list, const char *s);
