#!/bin/sh
# embed.sh FILE: the bytes of FILE as a C initialiser list on standard output,
# lines without their indentation.
set -e
sed -e 's/^[[:space:]]*//' "$1" | tr '\n' ' ' | od -An -v -tu1 |
    sed -e 's/  */,/g' -e 's/^,//' -e 's/$/,/'
