/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/channel/channel.h"

struct service_producer_options {
	struct channel_target target; /* its address is copied */
	const char *name; /* copied */
	uint32_t shm_size, shm_page_size; /* bytes */
	bool own_memory; /* we make the shared memory, if the service takes it */
	/* The service has read all our data sources, or is lost. */
	void (*on_connected)(void *ctx, bool connected);
	void (*on_trouble)(void *ctx, const char *sentence);
	void *ctx;
};
