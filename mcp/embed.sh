#!/bin/sh
# embed.sh FILE: the bytes of FILE, JSON of one member a line, as a C initialiser
# list on standard output, without the space around its members.
set -e
sed -e 's/^[[:space:]]*//' -e 's/^\("[^"\\]*"\): /\1:/' "$1" | tr -d '\n' | od -An -v -tu1 |
    sed -e 's/  */,/g' -e 's/^,//' -e 's/$/,/'
