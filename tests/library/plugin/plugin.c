/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that has the library in itself (libsonda.a), as a program may load it and unload it. */
#include "../numbers.h"

__attribute__((visibility("default"))) int plugin_run(unsigned number);

/* Connects, writes if a session records, and takes everything down again. */
int plugin_run(unsigned number)
{
	numbers_register(SONDA_FULL_STALL);
	numbers_init();
	numbers_wait_for_start();
	numbers_write(number, 0, 10);
	sonda_data_source_unregister(&numbers);
	return 0; /* the connection ends when the plugin is unloaded */
}
