/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct service_producer_options {
	const char *socket; /* copied; NULL: the default */
	const char *name; /* copied */
	uint32_t shm_size, shm_page_size; /* bytes */
	/* The service has read all our data sources, or is lost. */
	void (*on_connected)(void *ctx, bool connected);
	void (*on_trouble)(void *ctx, const char *sentence);
	void *ctx;
};
