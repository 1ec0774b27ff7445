/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <protobuf-c/protobuf-c.h>

#include "client/transport/consumer.h"
#include "common/observable_events.pb-c.h"
#include "config/unpack.h"

/* Messages in answers to a consumer (client/transport/consumer.h). */

/* Unpacks a message, which the caller frees with answer_freep(). Returns NULL if *error is set
 * already, or on failure, which sets *error to -ENOMEM, or to -EPROTO if the bytes are not such a
 * message. */
static inline void *answer_unpack(const ProtobufCMessageDescriptor *type, int *error,
				  const void *data, size_t len)
{
	ProtobufCMessage *m = NULL;
	int r = *error ? *error : unpack_untrusted(type, data, len, &m);

	*error = r && r != *error && r != -ENOMEM ? -EPROTO : r;
	return r ? NULL : m;
}

/* Returns the trigger for a request of a clone. Its texts are borrowed from hit. */
static inline struct consumer_clone_trigger answer_clone_trigger(
	const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	return (struct consumer_clone_trigger){.name = hit->trigger_name,
					       .producer_name = hit->producer_name,
					       .has_producer_uid = hit->has_producer_uid,
					       .producer_uid = (int32_t)hit->producer_uid,
					       .boot_time_ns = hit->boot_time_ns,
					       .delay_ms = hit->trigger_delay_ms};
}

/* For _cleanup_(). No-op for NULL. */
static inline void answer_freep(void *p)
{
	ProtobufCMessage **message = p;

	if (*message)
		protobuf_c_message_free_unpacked(*message, NULL);
	*message = NULL;
}
