/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/loop/io_loop.h"

/* The library's thread, which calls all callbacks of data sources. It runs between sonda_init() and
 * sonda_shutdown(). */
extern struct io_loop library_loop;
