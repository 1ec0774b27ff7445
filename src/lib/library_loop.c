/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/library_loop.h"

struct io_loop library_loop = IO_LOOP_INIT;
