/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with track events and a copy of the library of its own (libsonda.a). */
#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(own, "own", "Events of a plugin");

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int plugin_begin(void);
VISIBLE void plugin_event(void);

int plugin_begin(void)
{
	int r = sonda_init(NULL);

	return r < 0 ? r : sonda_wait_connected(20000);
}

void plugin_event(void)
{
	struct sonda_track track = sonda_track_named("of both", 1, NULL);

	SONDA_INSTANT(own, "of the plugin");
	SONDA_INSTANT(own, "of the plugin", SONDA_TRACK(&track));
}
