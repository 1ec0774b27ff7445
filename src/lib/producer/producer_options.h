/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/channel/channel.h"

struct service_producer_options {
	struct channel_target target; /* its address is copied */
	const char *name; /* copied */
	uint32_t shm_size, shm_page_size; /* bytes */
	bool own_memory; /* the producer creates the shared memory, if the service accepts it */
	/* true: the service has registered all data sources. false: the connection is lost. */
	void (*on_connected)(void *ctx, bool connected);
	void (*on_trouble)(void *ctx, const char *sentence);
	void *ctx;
};
