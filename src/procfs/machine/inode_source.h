/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/*
 * "linux.inode_file_map": the paths of the inodes on the mount points that the config names.
 *
 * Config: protos/config/inode_file/inode_file_config.proto.
 */
extern const struct data_source inode_file_map_data_source;
