#!/bin/sh
# Puts NVIDIA's header-only cudnn-frontend into .deps/cudnn-frontend, out of its Python wheel.
# Does nothing where the headers are already there.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
target=$root/.deps/cudnn-frontend
[ -f "$target/include/cudnn_frontend.h" ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --dest "$work" 'nvidia-cudnn-frontend~=1.20'
python3 -m zipfile -e "$work"/*.whl "$work/wheel"
mkdir -p "$target"
cp -R "$work/wheel/include" "$target/include"
echo "cudnn-frontend: $target/include"
