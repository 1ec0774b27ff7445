#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A verdict on $? that names what it judges with a $(command) judges that command: it can hardly fail.
set -u
cd "$(dirname "$0")/../.." || exit 2

found=$(grep -nE 'verdict .*\$\(.*\$\?' tests/*/*.sh tests/*/*/*.sh | grep -v '^tests/rules/')
if [ -z "$found" ]; then
  echo "ok 1 - no verdict is on the command that is in its own name"
else
  echo "not ok 1 - no verdict is on the command that is in its own name"
  printf '%s\n' "$found" | sed 's/^/#   /'
fi
echo 1..1
[ -z "$found" ]
