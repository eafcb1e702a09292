#!/bin/sh
# Makes the modules of this folder anew: two per source.
set -eu
cd "$(dirname "$0")"
common="-x cuda --cuda-device-only -nocudainc -nocudalib -S -O2 --cuda-feature=+ptx78"
for source in *.cu; do
    name="${source%.cu}"
    clang-19 $common --cuda-gpu-arch=sm_80 "$source" -o "$name.sm_80.ptx"
    clang-19 $common --cuda-gpu-arch=sm_90 -gline-tables-only -fdebug-compilation-dir=. "$source" \
        -o "$name.sm_90-lineinfo.ptx"
done
