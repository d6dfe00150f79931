#!/bin/sh
# embed.sh FILE: the bytes of FILE as a C initialiser list on standard output.
set -e
od -An -v -tu1 "$1" | sed -e 's/  */,/g' -e 's/^,//' -e 's/$/,/'
